import { createContext } from 'svelte'
import { invalidate } from '$app/navigation'

/** What happened since the last message, as the console's own endpoint sums it up. */
export interface LiveNews {
  created: number
  changed: number
}

const restMilliseconds = 800
// The overview and the counts in the sidebar ask a lot of the API, and nobody watches them by the second.
const overviewRestMilliseconds = 5_000
// The connection is renewed every minute or so; only a longer silence is worth a word.
const patienceMilliseconds = 6_000

/**
 * News of the open project. A visible page holds one connection to the console's endpoint, a hidden one holds none,
 * because a browser has few for all tabs together. Loads that depend on runs are refreshed about once a second.
 */
class Live {
  /** Whether news come by themselves right now. */
  connected = $state(true)
  /** Runs that were created since the reader last looked at the top of the list. */
  unseen = $state(0)
  /** Set by a list that is scrolled down: rows are then announced instead of pushed in. */
  held = $state(false)
  /** Something happened that a held list does not show yet. */
  isBehind = $state(false)
  #refresh: ReturnType<typeof setTimeout> | undefined
  #overview: ReturnType<typeof setTimeout> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined
  #source: EventSource | undefined
  readonly #address: () => string

  constructor(address: () => string) {
    this.#address = address
    $effect(() => {
      const follow = () => (document.hidden ? this.#close() : this.#open())
      follow()
      document.addEventListener('visibilitychange', follow)
      return () => {
        document.removeEventListener('visibilitychange', follow)
        this.#close()
      }
    })
  }

  #open(): void {
    if (this.#source) return
    const source = new EventSource(this.#address())
    this.#source = source
    source.onopen = () => {
      clearTimeout(this.#silence)
      this.connected = true
    }
    source.onerror = () => {
      clearTimeout(this.#silence)
      this.#silence = setTimeout(() => {
        this.connected = false
      }, patienceMilliseconds)
    }
    source.addEventListener('news', (event) => this.#hear(JSON.parse(event.data) as LiveNews))
  }

  #close(): void {
    this.#source?.close()
    this.#source = undefined
    clearTimeout(this.#refresh)
    clearTimeout(this.#overview)
    clearTimeout(this.#silence)
    this.#refresh = undefined
    this.#overview = undefined
  }

  /** Shows what was held back. */
  async show(): Promise<void> {
    this.held = false
    this.isBehind = false
    this.unseen = 0
    await invalidate('meridian:runs')
  }

  #hear(news: LiveNews): void {
    this.#overview ??= setTimeout(() => {
      this.#overview = undefined
      void invalidate('meridian:overview')
    }, overviewRestMilliseconds)
    if (this.held) {
      this.unseen += news.created
      this.isBehind = true
      return
    }
    this.#refresh ??= setTimeout(() => {
      this.#refresh = undefined
      if (!this.held) void invalidate('meridian:runs')
    }, restMilliseconds)
  }
}

export const [getLive, provideLive] = createContext<Live>()

/** Opens the connection for the pages below. */
export const setLive = (address: () => string): Live => provideLive(new Live(address))
