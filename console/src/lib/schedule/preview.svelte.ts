import type { Preview, Schedule, ScheduleFault } from './schedule.ts'

/** What the console's own endpoint answers about a schedule. */
export type PreviewAnswer = { preview: Preview } | { faults: ScheduleFault[] }

const settleMilliseconds = 180

/**
 * The consequence of the schedule being written. Asks when typing pauses, keeps the last answer on screen meanwhile,
 * and drops answers that come too late.
 */
export class PreviewState {
  preview = $state.raw<Preview>()
  faults = $state.raw<ScheduleFault[]>([])
  /** The last answer no longer belongs to what is written. */
  stale = $state(false)
  unreachable = $state(false)

  /** Follows the schedule for as long as the component lives. */
  constructor(endpoint: () => string, schedule: () => Schedule | undefined) {
    $effect(() => {
      const body = JSON.stringify({ schedule: schedule() })
      const address = endpoint()
      if (body === '{}') {
        this.#take({ preview: { occurrences: [], description: '', warnings: [] } })
        return
      }
      this.stale = true
      const leaving = new AbortController()
      const timer = setTimeout(() => this.#ask(address, body, leaving.signal), settleMilliseconds)
      return () => {
        clearTimeout(timer)
        leaving.abort()
      }
    })
  }

  async #ask(address: string, body: string, signal: AbortSignal): Promise<void> {
    try {
      const response = await fetch(address, {
        method: 'POST',
        body,
        signal,
        headers: { 'content-type': 'application/json' },
      })
      if (!response.ok) throw new Error(`status ${response.status}`)
      this.#take((await response.json()) as PreviewAnswer)
    } catch {
      if (!signal.aborted) this.unreachable = true
    }
  }

  #take(answer: PreviewAnswer): void {
    this.stale = false
    this.unreachable = false
    if ('preview' in answer) {
      this.preview = answer.preview
      this.faults = []
    } else this.faults = answer.faults
  }
}
