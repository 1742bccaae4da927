import { browser } from '$app/env'

/** A short notice; with an action it is the way back from what just happened. */
export interface Toast {
  id: number
  text: string
  failed: boolean
  action: { label: string; run: () => void } | undefined
}

const shownMilliseconds = 7_000

/** The notices on screen, newest last. They leave by themselves unless the pointer rests on them. */
class Toasts {
  shown = $state<Toast[]>([])
  #next = 1
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>()

  /** Says that something happened, with a way to undo it if there is one. */
  say(text: string, action?: Toast['action']): void {
    this.#show({ text, failed: false, action })
  }

  /** Says that something did not work. It stays until it is dismissed. */
  fail(text: string): void {
    this.#show({ text, failed: true, action: undefined })
  }

  dismiss(id: number): void {
    this.hold(id)
    this.shown = this.shown.filter((toast) => toast.id !== id)
  }

  hold(id: number): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
  }

  release(id: number): void {
    const toast = this.shown.find((candidate) => candidate.id === id)
    if (toast && !toast.failed)
      this.#timers.set(
        id,
        setTimeout(() => this.dismiss(id), shownMilliseconds),
      )
  }

  #show(toast: Omit<Toast, 'id'>): void {
    // The server renders for many people at once; a notice belongs to one browser.
    if (!browser) return
    const id = this.#next++
    this.shown = [...this.shown.slice(-2), { ...toast, id }]
    this.release(id)
  }
}

export const toasts = new Toasts()
