/** Bytes that all responses together may hold beyond what each is sure of. */
export interface BodyBudget {
  bytesLeft: number
}

/** What every response may hold, however many there are: concurrency times this bounds the sure part. */
const sureBytes = 65_536

const empty = Buffer.alloc(0)

/**
 * Keeps the beginning of a response's body. The first chunk is kept as it came; from the second on bytes are copied
 * together, so a body in a million chunks of one byte costs its length, not a million objects.
 */
export class BodyBuffer {
  readonly #bytesMax: number
  readonly #budget: BodyBudget
  #bytes: Buffer = empty
  #length = 0
  #owned = false
  #borrowed = 0
  #truncated = false

  constructor(bytesMax: number, budget: BodyBudget) {
    this.#bytesMax = bytesMax
    this.#budget = budget
  }

  /** Keeps what there is room for. False: the body is longer than what is kept. */
  take(chunk: Buffer): boolean {
    const room = this.#room(this.#length + chunk.length)
    const kept = chunk.length <= room ? chunk : chunk.subarray(0, room)
    if (kept.length > 0) this.#append(kept)
    this.#truncated = kept.length < chunk.length
    return !this.#truncated
  }

  /** The bytes kept. Gives what was borrowed back: from here on they are the caller's to account for. */
  close(): { bytes: Buffer; truncated: boolean } {
    this.#budget.bytesLeft += this.#borrowed
    this.#borrowed = 0
    return { bytes: this.#bytes.subarray(0, this.#length), truncated: this.#truncated }
  }

  #room(wanted: number): number {
    const reach = Math.min(wanted, this.#bytesMax)
    const missing = reach - sureBytes - this.#borrowed
    if (missing > 0) {
      const borrowed = Math.min(missing, this.#budget.bytesLeft)
      this.#budget.bytesLeft -= borrowed
      this.#borrowed += borrowed
    }
    return Math.min(reach, sureBytes + this.#borrowed) - this.#length
  }

  #append(chunk: Buffer): void {
    const length = this.#length + chunk.length
    if (this.#length === 0) {
      this.#bytes = chunk
    } else {
      if (!this.#owned || length > this.#bytes.length) {
        const grown = Buffer.allocUnsafeSlow(Math.min(this.#bytesMax, Math.max(length, this.#bytes.length * 2, 1_024)))
        this.#bytes.copy(grown, 0, 0, this.#length)
        this.#bytes = grown
        this.#owned = true
      }
      chunk.copy(this.#bytes, this.#length)
    }
    this.#length = length
  }
}
