import type { Import, NewImport } from '@meridian/sdk'
import type { ProblemView } from '#lib/problem.ts'

/** What the console's own endpoint answers about a source. */
export type PlanAnswer = { plan: Import } | { problem: ProblemView }

const settleMilliseconds = 250

/**
 * What a source would become. Asks when typing pauses, keeps the last answer on screen meanwhile, and drops answers that
 * come too late.
 */
export class PlanState {
  plan = $state.raw<Import>()
  problem = $state.raw<ProblemView>()
  /** The last answer no longer belongs to what is written. */
  stale = $state(false)
  unreachable = $state(false)

  /** Follows the source for as long as the component lives. */
  constructor(endpoint: () => string, wanted: () => NewImport | undefined) {
    $effect(() => {
      const input = wanted()
      const address = endpoint()
      if (input === undefined) {
        this.plan = undefined
        this.problem = undefined
        this.stale = false
        return
      }
      this.stale = true
      const leaving = new AbortController()
      const timer = setTimeout(() => this.#ask(address, JSON.stringify(input), leaving.signal), settleMilliseconds)
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
      const answer = (await response.json()) as PlanAnswer
      this.stale = false
      this.unreachable = false
      this.problem = 'problem' in answer ? answer.problem : undefined
      if ('plan' in answer) this.plan = answer.plan
    } catch {
      if (!signal.aborted) this.unreachable = true
    }
  }
}
