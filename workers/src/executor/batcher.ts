import { setTimeout as sleep } from 'node:timers/promises'

export interface BatcherOptions<T> {
  /** Writes one batch. Called again with the same batch after it threw, so it must be safe to repeat. */
  write(batch: T[]): Promise<void>
  /** A batch goes as soon as it has this many. */
  size: number
  /** The most one write takes. */
  sizeMax: number
  /** A smaller one goes after this time. */
  waitMs: number
  /** While items come at such a rate that waiting this long fills a batch, it is waited for: fewer, fuller writes. */
  fillMs?: number
  /** Where so many came in `waitMs` more are coming, and a batch waits this long for them, unless somebody waits for it. */
  gather?: { from: number; ms: number }
  inFlightMax: number
  onError(error: unknown, batch: T[]): void
}

const retryMs = 200

/**
 * Collects records and writes them in batches. What could not be written is tried again until it can: a report is
 * never lost while its process lives.
 */
export class Batcher<T> {
  readonly #options: BatcherOptions<T>
  #waiting: T[] = []
  #inFlight = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | null = null
  /** Somebody waits for what is written: nothing is gathered. */
  isAwaited = false

  constructor(options: BatcherOptions<T>) {
    this.#options = options
  }

  /** Records that are not on disk yet. */
  #writing = 0
  get backlog(): number {
    return this.#waiting.length + this.#writing
  }

  add(item: T): void {
    this.#waiting.push(item)
    if (this.#waiting.length >= this.#options.size) this.flush()
    else this.#timer ??= setTimeout(() => this.#flushOrFill(), this.#options.waitMs)
  }

  #flushOrFill(): void {
    const restMs = this.#worthWaitingMs() - this.#options.waitMs
    if (restMs > 0) this.#timer = setTimeout(() => this.flush(), restMs)
    else this.flush()
  }

  /** How long a batch waits in all, now that its first `waitMs` are over. */
  #worthWaitingMs(): number {
    const { size, waitMs, fillMs = waitMs, gather } = this.#options
    const count = this.#waiting.length
    if (count * fillMs >= size * waitMs) return fillMs
    return gather !== undefined && !this.isAwaited && count >= gather.from ? gather.ms : waitMs
  }

  /** Resolves when everything added so far is written. */
  async drain(): Promise<void> {
    while (this.backlog > 0) {
      this.flush()
      await Promise.all(this.#inFlight)
    }
  }

  /** Writes what there is, without waiting for more. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    while (this.#inFlight.size < this.#options.inFlightMax && this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#options.sizeMax)
      this.#writing += batch.length
      const writing = this.#write(batch).finally(() => {
        this.#writing -= batch.length
        this.#inFlight.delete(writing)
        if (this.#waiting.length >= this.#options.size) this.flush()
        else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#flushOrFill(), this.#options.waitMs)
      })
      this.#inFlight.add(writing)
    }
  }

  async #write(batch: T[]): Promise<void> {
    for (;;) {
      try {
        await this.#options.write(batch)
        return
      } catch (error) {
        this.#options.onError(error, batch)
        await sleep(retryMs)
      }
    }
  }
}
