import type { Way } from '../carrier.ts'

/** What waits to be performed, first come first served; what came by express goes before all others. */
export class WaitingLine<Item> {
  readonly #express: Item[] = []
  #road: Item[] = []
  /** Where the road begins: taking from the front of a long array costs as much as it is long. */
  #head = 0

  get length(): number {
    return this.#express.length + this.#road.length - this.#head
  }

  push(item: Item, way: Way): void {
    if (way === 'express') this.#express.push(item)
    else this.#road.push(item)
  }

  shift(): Item | undefined {
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
