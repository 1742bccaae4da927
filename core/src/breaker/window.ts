import type { BreakerSettings } from './breaker.ts'

/** Half a window of attempts to one host. */
interface Half {
  failures: number
  attempts: number
}

const none: Half = { failures: 0, attempts: 0 }

/**
 * Attempts to one host over the last window, counted in halves: what is older than a window has always gone, what is
 * younger than half of one never has. Instants are milliseconds of a clock that only goes on.
 */
export class FailureWindow {
  readonly #halfMs: number
  #startMs: number
  #before: Half = none
  #now: Half = { ...none }

  constructor(windowSeconds: number, nowMs: number) {
    this.#halfMs = windowSeconds * 500
    this.#startMs = nowMs
  }

  count(isFailure: boolean, nowMs: number): void {
    this.#turn(nowMs)
    this.#now.attempts++
    if (isFailure) this.#now.failures++
  }

  get failures(): number {
    return this.#before.failures + this.#now.failures
  }

  /** Whether the host has failed so often that it should be left alone. */
  isOver({ failures, failureShare }: Pick<BreakerSettings, 'failures' | 'failureShare'>): boolean {
    const attempts = this.#before.attempts + this.#now.attempts
    return this.failures >= failures && this.failures >= failureShare * attempts
  }

  /** Whether no failure is left in it. */
  isClean(nowMs: number): boolean {
    this.#turn(nowMs)
    return this.failures === 0
  }

  #turn(nowMs: number): void {
    const halves = Math.floor((nowMs - this.#startMs) / this.#halfMs)
    if (halves <= 0) return
    this.#before = halves === 1 ? this.#now : none
    this.#now = { ...none }
    this.#startMs += halves * this.#halfMs
  }
}
