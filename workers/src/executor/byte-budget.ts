/** Memory that several share: who wants more than is left waits in line, so that large ones are not passed by for ever. */
export class ByteBudget {
  readonly #total: number
  #left: number
  #waiting: { bytes: number; go: () => void }[] = []

  constructor(totalBytes: number) {
    this.#total = totalBytes
    this.#left = totalBytes
  }

  /** Resolves when the bytes may be used, to what gives them back. What is larger than all there is waits for all. */
  async take(wantedBytes: number): Promise<() => void> {
    const bytes = Math.min(wantedBytes, this.#total)
    if (this.#waiting.length > 0 || bytes > this.#left) {
      await new Promise<void>((go) => this.#waiting.push({ bytes, go }))
    } else this.#left -= bytes
    return () => {
      this.#left += bytes
      this.#serve()
    }
  }

  #serve(): void {
    for (let next = this.#waiting[0]; next !== undefined && next.bytes <= this.#left; next = this.#waiting[0]) {
      this.#left -= next.bytes
      this.#waiting.shift()
      next.go()
    }
  }
}
