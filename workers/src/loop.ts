import { backoffDelay } from '@meridian/core/kernel/backoff'
import type { Log } from '@meridian/core/kernel/log'

/** What one pass found: look again at once, after the usual wait, or after so many milliseconds. */
export type Pass = 'more' | 'idle' | { sleepMs: number }

export interface LoopOptions {
  name: string
  /** One pass: one batch. */
  runOnce(signal: AbortSignal): Promise<Pass>
  /** The usual wait. */
  idleMs: number
  log: Log
  /** Hears of every pass that did not throw; for tests and the watchdog. */
  onPass?(pass: Pass): void
}

export interface Loop {
  /** Makes the next look happen now, or right after the one that is going on. */
  wake(): void
  /** The same, at an instant of `performance.now()`, unless a look comes sooner. One that is going on is none. */
  wakeAt(atMs: number): void
  /** Resolves after the pass that is going on. */
  stop(): Promise<void>
}

const errorBackoff = { baseMs: 100, factor: 2, capMs: 5_000, jitter: 0.3 }

/** Runs passes for ever: owns ticking, waking, back-off after errors, and stopping. */
export function startLoop({ name, runOnce, idleMs, log, onPass }: LoopOptions): Loop {
  const controller = new AbortController()
  let wakeUp = (): void => undefined
  /** When somebody wants a look that asked while one was going on. */
  let wokenAtMs = Number.POSITIVE_INFINITY
  let plannedAtMs = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let errors = 0

  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer)
        wakeUp = () => undefined
        plannedAtMs = Number.POSITIVE_INFINITY
        resolve()
      }
      wakeUp = finish
      plannedAtMs = performance.now() + ms
      timer = setTimeout(finish, Math.ceil(ms))
    })

  const run = async (): Promise<void> => {
    while (!controller.signal.aborted) {
      wokenAtMs = Number.POSITIVE_INFINITY
      let waitMs: number
      try {
        const pass = await runOnce(controller.signal)
        errors = 0
        onPass?.(pass)
        waitMs = pass === 'more' ? 0 : pass === 'idle' ? idleMs : pass.sleepMs
      } catch (error) {
        waitMs = backoffDelay(errorBackoff, ++errors, Math.random())
        log.warn({ err: error, loop: name, errors, waitMs }, 'a pass failed')
      }
      // After an error the back-off holds: what wakes us may be what hurts us.
      if (errors === 0) waitMs = Math.min(waitMs, wokenAtMs - performance.now())
      if (waitMs > 0 && !controller.signal.aborted) await sleep(waitMs)
    }
  }
  const running = run()

  const wake = (): void => {
    wokenAtMs = Number.NEGATIVE_INFINITY
    if (errors === 0) wakeUp()
  }
  return {
    wake,
    wakeAt(atMs) {
      const waitMs = atMs - performance.now()
      if (waitMs <= 0) wake()
      else if (plannedAtMs === Number.POSITIVE_INFINITY) wokenAtMs = Math.min(wokenAtMs, atMs)
      else if (atMs < plannedAtMs && errors === 0) {
        plannedAtMs = atMs
        clearTimeout(timer)
        timer = setTimeout(wakeUp, Math.ceil(waitMs))
      }
    },
    async stop() {
      controller.abort()
      wakeUp()
      await running
    },
  }
}
