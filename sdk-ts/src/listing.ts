/** One page of a list. */
export interface Page<Item> {
  data: Item[]
  /** Null on the last page. */
  nextCursor: string | null
  /** Of a list of runs: set when this page is not full though there may be more. It looked so far back. */
  lookedTo?: string | null
}

/** A list that is read as it is needed. Iterate it for every item of every page. */
export class Listing<Item> implements AsyncIterable<Item> {
  readonly #read: (cursor: string | undefined) => Promise<Page<Item>>
  readonly #cursor: string | undefined

  constructor(read: (cursor: string | undefined) => Promise<Page<Item>>, cursor?: string) {
    this.#read = read
    this.#cursor = cursor
  }

  /** One page: the first, or the one behind the cursor that was given. */
  page(): Promise<Page<Item>> {
    return this.#read(this.#cursor)
  }

  /** Page after page. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    for (let cursor = this.#cursor; ; ) {
      const page = await this.#read(cursor)
      yield page
      if (page.nextCursor === null) return
      cursor = page.nextCursor
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.data
  }
}
