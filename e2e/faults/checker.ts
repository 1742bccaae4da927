import type { ReceivedRequest } from '../receiver.ts'

/** A run that the API acknowledged with a 2xx. */
export interface AcceptedRun {
  id: string
  dueAtMs: number
}

/** A run as the API tells of it afterwards. */
export interface FinalRun {
  id: string
  status: string
  /** Names of the events told of this run, in order. */
  events: readonly string[]
}

/** Everything a check looks at. */
export interface Evidence {
  accepted: readonly AcceptedRun[]
  /** All runs that exist where the load was put, wherever they came from. */
  runs: readonly FinalRun[]
  requests: readonly ReceivedRequest[]
}

/** What went wrong; all lists are empty when nothing did. */
export interface Findings {
  /** Accepted, yet gone, never called, or still open at the end. */
  lost: string[]
  /** Runs that exist though nobody was told so, or more than once. */
  duplicates: string[]
  /** Runs that were told to have ended twice or more. */
  doubleEnds: string[]
  /** Calls before the due instant that they carry, or before the one asked for. */
  early: { run: string; byMs: number }[]
  /** First call minus the due instant, a run each. */
  latenessMs: number[]
  attempts: number
}

const finalStatuses = new Set(['succeeded', 'failed', 'cancelled', 'expired'])
const endings = new Set(['run.succeeded', 'run.failed', 'run.cancelled', 'run.expired'])

/** Compares what was promised with what the target and the API saw. */
export function examine({ accepted, runs, requests }: Evidence): Findings {
  const called = Map.groupBy(requests, ({ run }) => run)
  const known = Map.groupBy(runs, ({ id }) => id)
  const wanted = new Map(accepted.map((run) => [run.id, run]))
  const lost = accepted.filter(({ id }) => {
    const run = known.get(id)?.[0]
    if (run === undefined || !finalStatuses.has(run.status)) return true
    return run.status === 'succeeded' && !called.has(id)
  })
  return {
    lost: lost.map(({ id }) => id),
    duplicates: [...known].filter(([id, rows]) => rows.length > 1 || !wanted.has(id)).map(([id]) => id),
    doubleEnds: runs.filter(({ events }) => events.filter((name) => endings.has(name)).length > 1).map(({ id }) => id),
    early: requests.flatMap((request) => {
      const told = request.dueAt === undefined ? -Infinity : Date.parse(request.dueAt)
      const byMs = Math.max(told, wanted.get(request.run)?.dueAtMs ?? -Infinity) - request.receivedAtMs
      return byMs > 0 ? [{ run: request.run, byMs }] : []
    }),
    latenessMs: accepted.flatMap(({ id, dueAtMs }) => {
      const first = called.get(id)?.[0]
      return first === undefined ? [] : [first.receivedAtMs - dueAtMs]
    }),
    attempts: requests.length,
  }
}

/** Throws unless nothing was lost, doubled, ended twice or early: what every fault row of part R asks. */
export function assertSound(findings: Findings): void {
  const faults = (['lost', 'duplicates', 'doubleEnds', 'early'] as const).filter((kind) => findings[kind].length > 0)
  if (faults.length === 0) return
  const told = faults.map((kind) => {
    const some = findings[kind].slice(0, 5).map((fault) => (typeof fault === 'string' ? fault : JSON.stringify(fault)))
    return `${kind}: ${findings[kind].length} (${some.join(', ')})`
  })
  throw new Error(told.join('; '))
}
