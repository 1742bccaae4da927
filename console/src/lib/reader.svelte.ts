import { createContext } from 'svelte'
import { isZone } from '#lib/time/words.ts'

export type Theme = 'system' | 'light' | 'dark'

export const themes: readonly Theme[] = ['system', 'light', 'dark']

/** Cookies that hold what the server must know to render the first page right. They hold nothing secret. */
export const themeCookie = 'meridian_theme'
export const zoneCookie = 'meridian_zone'

export interface Preferences {
  theme: Theme
  zone: string
}

const tickMilliseconds = 1_000
// Below this the difference to the server is the time the page took to arrive, not a wrong clock.
const credibleSkewMilliseconds = 10_000

/** The person before the screen: their clock, their zone, their theme. */
export class Reader {
  now = $state(0)
  zone = $state('UTC')
  theme = $state<Theme>('system')
  #skew = 0

  constructor(serverNow: number, preferences: Preferences) {
    this.now = serverNow
    this.zone = preferences.zone
    this.theme = preferences.theme
  }

  /** Starts the clock in the browser and learns the zone; returns how to stop. */
  start(): () => void {
    const skew = this.now - Date.now()
    this.#skew = Math.abs(skew) > credibleSkewMilliseconds ? skew : 0
    const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
    if (isZone(zone) && zone !== this.zone) {
      this.zone = zone
      remember(zoneCookie, zone)
    }
    const tick = () => {
      this.now = Date.now() + this.#skew
    }
    tick()
    const timer = setInterval(tick, tickMilliseconds)
    return () => clearInterval(timer)
  }

  /** Changes the theme now and for the next page. */
  choose(theme: Theme): void {
    this.theme = theme
    document.documentElement.dataset.theme = theme
    remember(themeCookie, theme)
  }
}

export const [getReader, setReader] = createContext<Reader>()

function remember(name: string, value: string): void {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not everywhere yet
  document.cookie = `${name}=${encodeURIComponent(value)}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`
}
