import type { ProblemView } from '#lib/problem.ts'

/** What an endpoint of the console answers about something that is still being written. */
export type Answered<Answer> = { answer: Answer } | { problem: ProblemView }

const settleMilliseconds = 180

/**
 * What comes of something that is being written. Asks when typing pauses, keeps the last answer on screen meanwhile, and
 * drops answers that come too late.
 */
export class Asked<Answer> {
  answer = $state.raw<Answer>()
  problem = $state.raw<ProblemView>()
  /** The last answer no longer belongs to what is written. */
  stale = $state(true)
  unreachable = $state(false)

  /** Follows what is written for as long as the component lives; undefined asks nothing. */
  constructor(endpoint: () => string, wanted: () => unknown) {
    $effect(() => {
      const body = JSON.stringify(wanted())
      const address = endpoint()
      this.stale = true
      if (body === undefined) return
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
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(address, { method: 'POST', body, signal, headers })
      if (!response.ok) throw new Error(`status ${response.status}`)
      const answered = (await response.json()) as Answered<Answer>
      this.stale = false
      this.unreachable = false
      if ('answer' in answered) this.answer = answered.answer
      this.problem = 'problem' in answered ? answered.problem : undefined
    } catch {
      if (!signal.aborted) this.unreachable = true
    }
  }
}
