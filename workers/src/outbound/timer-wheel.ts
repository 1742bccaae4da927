import { Link } from './link.ts'

const tickMs = 20
const slotCount = 512

/** What has a deadline. `expire` is called once, at its time or up to a tick later, never early. */
export interface Expiring {
  expire(): void
}

export class Timer extends Link {
  readonly dueTick: number
  readonly owner: Expiring
  constructor(dueTick: number, owner: Expiring) {
    super()
    this.dueTick = dueTick
    this.owner = owner
  }
}

/**
 * Deadlines of many requests for the price of one system timer: setting and clearing one is a few pointer writes.
 * Each slot holds the deadlines of one tick of every turn; the wheel turns only while it holds any.
 */
export class TimerWheel {
  readonly #slots = Array.from({ length: slotCount }, () => new Link())
  #size = 0
  #tick = 0
  #alarm: NodeJS.Timeout | null = null

  get size(): number {
    return this.#size
  }

  /** Lets `owner` expire after `delayMs`, unless the timer is cleared before. */
  set(delayMs: number, owner: Expiring): Timer {
    // A wheel that stood still has nothing to catch up with.
    if (this.#size === 0) this.#tick = currentTick()
    // Always a tick that has not come yet, so the turn under way can not have passed its slot.
    const timer = new Timer(Math.floor((performance.now() + Math.max(0, delayMs)) / tickMs) + 1, owner)
    this.#slots[timer.dueTick % slotCount]?.append(timer)
    this.#size++
    this.#wind()
    return timer
  }

  /** Harmless when the timer has expired or was cleared before. */
  clear(timer: Timer): void {
    if (timer.after === timer) return
    timer.unlink()
    this.#size--
  }

  readonly #turn = (): void => {
    this.#alarm = null
    const end = currentTick()
    // After a stall longer than a whole turn, visiting every slot once is enough.
    const begin = Math.max(this.#tick + 1, end - slotCount + 1)
    for (let tick = begin; tick <= end; tick++) this.#fire(tick % slotCount, end)
    this.#tick = end
    this.#wind()
  }

  #wind(): void {
    if (this.#size > 0 && this.#alarm === null) this.#alarm = setTimeout(this.#turn, tickMs)
  }

  #fire(slot: number, end: number): void {
    const ring = this.#slots[slot]
    if (!ring) return
    const due: Timer[] = []
    for (let link = ring.after; link !== ring; link = link.after) {
      if (link instanceof Timer && link.dueTick <= end) due.push(link)
    }
    for (const timer of due) {
      // An earlier one of this list may have cleared it.
      if (timer.after === timer) continue
      this.clear(timer)
      timer.owner.expire()
    }
  }
}

const currentTick = (): number => Math.floor(performance.now() / tickMs)
