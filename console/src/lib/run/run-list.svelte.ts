import type { Run } from '@meridian/sdk'
import { untrack } from 'svelte'
import { mergeRows } from './merge.ts'

interface FirstPage {
  runs: readonly Run[]
  nextCursor: string | null
  lookedTo: string | null
  names: Record<string, string>
}

/** A list of runs that is refreshed at the top and grows at the bottom. */
export class RunList {
  busy = $state(false)
  failed = $state(false)
  #known = $state.raw<readonly Run[]>([])
  #names = $state.raw<Record<string, string>>({})
  #cursor = $state<string | null>()
  #lookedTo = $state<string | null>(null)
  #newestShown = $state<string>()
  readonly #all = $derived.by(() => {
    const { runs, nextCursor } = this.#first()
    return mergeRows(runs, this.#known, nextCursor === null)
  })
  readonly #first: () => FirstPage
  readonly #pageHref: (cursor: string) => string

  /**
   * @param first the first page as the page's load has it now
   * @param question what the list is about: with another one it starts over
   */
  constructor(first: () => FirstPage, question: () => string, pageHref: (cursor: string) => string) {
    this.#first = first
    this.#pageHref = pageHref
    let asked: string | undefined
    $effect.pre(() => {
      const { runs } = first()
      const now = question()
      untrack(() => {
        if (now === asked) this.#known = mergeRows(runs, this.#known, false)
        else {
          asked = now
          this.#known = runs
          this.#names = {}
          this.#cursor = undefined
          this.#lookedTo = null
          this.#newestShown = undefined
        }
      })
    })
  }

  /** What to show: all rows, without those that came since the list was frozen. */
  get rows(): Run[] {
    const newest = this.#newestShown
    return newest === undefined ? this.#all : this.#all.filter((run) => run.id <= newest)
  }

  /** How many rows a frozen list keeps back. */
  get keptBack(): number {
    const newest = this.#newestShown
    return newest === undefined ? 0 : this.#all.filter((run) => run.id > newest).length
  }

  /** Adds no rows at the top for now, so that none moves away under the pointer. Those shown still change. */
  freeze(): void {
    this.#newestShown ??= this.#all[0]?.id
  }

  thaw(): void {
    this.#newestShown = undefined
  }

  get names(): Record<string, string> {
    return { ...this.#names, ...this.#first().names }
  }

  get hasMore(): boolean {
    return this.#next !== null
  }

  /** How far back was looked, where that is further than the last row. */
  get lookedTo(): string | null {
    return this.#cursor === undefined ? this.#first().lookedTo : this.#lookedTo
  }

  /** Adds the next page. */
  async more(): Promise<void> {
    const cursor = this.#next
    if (cursor === null || this.busy) return
    this.busy = true
    try {
      const response = await fetch(this.#pageHref(cursor))
      if (!response.ok) throw new Error(`status ${response.status}`)
      const page = (await response.json()) as FirstPage
      this.#known = [...this.#known, ...page.runs]
      this.#names = { ...this.#names, ...page.names }
      this.#cursor = page.nextCursor
      this.#lookedTo = page.lookedTo
      this.failed = false
    } catch {
      this.failed = true
    } finally {
      this.busy = false
    }
  }

  /** The first page's cursor until more was read; from then on that of the last page read. */
  get #next(): string | null {
    return this.#cursor === undefined ? this.#first().nextCursor : this.#cursor
  }
}
