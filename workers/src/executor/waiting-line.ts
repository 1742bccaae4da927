import type { Way } from '../carrier.ts'

/** What waits to be performed, first come first served; critical runs go before those by express, and these before all others. */
export class WaitingLine<Item> {
  readonly #critical: Item[] = []
  readonly #express: Item[] = []
  #road: Item[] = []
  /** Where the road begins: taking from the front of a long array costs as much as it is long. */
  #head = 0

  get hasCritical(): boolean {
    return this.#critical.length > 0
  }

  get length(): number {
    return this.#critical.length + this.#express.length + this.#road.length - this.#head
  }

  push(item: Item, way: Way | 'critical'): void {
    if (way === 'critical') this.#critical.push(item)
    else if (way === 'express') this.#express.push(item)
    else this.#road.push(item)
  }

  shift(): Item | undefined {
    if (this.#critical.length > 0) return this.#critical.shift()
    if (this.#express.length > 0) return this.#express.shift()
    const item = this.#road[this.#head]
    if (item !== undefined) this.#head++
    if (this.#head > 1_024 && this.#head * 2 > this.#road.length) {
      this.#road = this.#road.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
