import type { NewOperation, Operation } from '@meridian/sdk'
import type { ProblemView } from '#lib/problem.ts'

/** What the console's own endpoint answers about an operation that is not started yet. */
export type RehearsalAnswer = { planned: Operation } | { problem: ProblemView }

const settleMilliseconds = 180

/**
 * What an operation would do. Asks when typing pauses, keeps the last answer on screen meanwhile, and drops answers that
 * come too late.
 */
export class Rehearsal {
  planned = $state.raw<Operation>()
  problem = $state.raw<ProblemView>()
  /** The last answer no longer belongs to what is asked for. */
  stale = $state(true)

  /** Follows the operation for as long as the component lives; undefined asks nothing. */
  constructor(endpoint: () => string, operation: () => NewOperation | undefined) {
    // As text it is the same while it means the same, however often the page around it is read anew.
    const wanted = $derived.by(() => {
      const next = operation()
      return next && JSON.stringify({ operation: next })
    })
    const address = $derived(endpoint())
    $effect(() => {
      const [to, body] = [address, wanted]
      this.stale = true
      if (body === undefined) return
      const leaving = new AbortController()
      const timer = setTimeout(() => this.#ask(to, body, leaving.signal), settleMilliseconds)
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
      const answer = (await response.json()) as RehearsalAnswer
      this.planned = 'planned' in answer ? answer.planned : undefined
      this.problem = 'problem' in answer ? answer.problem : undefined
      this.stale = false
    } catch {
      if (signal.aborted) return
      const detail = 'Nothing was counted. Change something, or look again in a moment.'
      this.problem = { title: 'The console did not answer', detail, requestId: undefined, errors: [] }
    }
  }
}
