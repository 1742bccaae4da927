import type { ErrorClass } from '@meridian/core/run/outcome'

export const cancelledDetail = 'The run was cancelled.'

interface Endable {
  end(errorClass: ErrorClass, detail: string): void
}

/** A handle to cut one attempt short. It costs an object, where an AbortSignal costs an event target. */
export class Cancellation {
  #cancelled = false
  #current: Endable | null = null

  get cancelled(): boolean {
    return this.#cancelled
  }

  /** Ends the call that is running, if one is, and lets no further one begin. */
  cancel(): void {
    this.#cancelled = true
    this.#current?.end('cancelled', cancelledDetail)
  }

  /** For the door: the call to end. */
  attach(call: Endable): void {
    this.#current = call
  }

  release(): void {
    this.#current = null
  }
}
