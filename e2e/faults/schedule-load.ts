import type { World } from './world.ts'

/** A job whose every instant is known by arithmetic: `anchorMs` plus any number of `everyMs`. */
export interface TickingJob {
  id: string
  anchorMs: number
  everyMs: number
  /** Its first instant. */
  firstMs: number
}

interface WireOccurrence {
  nominalAt: string
  untilAt: string
  count: number
  outcome: 'pending' | 'run' | 'skipped' | 'missed'
  reason: string | null
  runId: string | null
  isCaughtUp: boolean
}

export interface TickingPlan {
  count: number
  /** Seconds between instants, from the shortest to the longest. */
  everySeconds: readonly [number, number]
  url: string
  queue: string
  overlap: string
  /** Any further field of the jobs. */
  more?: Record<string, unknown>
}

const creatorsAtOnce = 16

/** Makes jobs that tick at intervals of their own, each from an anchor of its own. */
export async function createTicking(world: World, plan: TickingPlan): Promise<TickingJob[]> {
  const [shortest, longest] = plan.everySeconds
  const jobs: TickingJob[] = []
  let next = 0
  const create = async () => {
    for (let index = next++; index < plan.count; index = next++) {
      const everyMs = 1_000 * (shortest + (index % (longest - shortest + 1)))
      const anchorMs = Math.floor(Date.now() / 1_000) * 1_000 - everyMs + (index % 1_000)
      const { id, nextAt } = await world.api.ask<{ id: string; nextAt: string }>('POST', '/v1/jobs', {
        name: `${plan.queue} ${String(index)}`,
        target: { type: 'http', url: plan.url },
        queue: plan.queue,
        overlap: plan.overlap,
        retry: { limit: 0 },
        schedule: { type: 'every', every: `PT${everyMs / 1_000}S`, anchor: new Date(anchorMs).toISOString() },
        ...plan.more,
      })
      jobs.push({ id, anchorMs, everyMs, firstMs: Date.parse(nextAt) })
    }
  }
  await create()
  await Promise.all(Array.from({ length: creatorsAtOnce }, create))
  return jobs
}

/** The whole ledger of a job, oldest first. */
export async function readLedger(world: World, job: Pick<TickingJob, 'id'>): Promise<WireOccurrence[]> {
  const rows: WireOccurrence[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: { data: WireOccurrence[]; nextCursor: string | null } = await world.api.ask(
      'GET',
      `/v1/jobs/${job.id}/occurrences?limit=200${from}`,
    )
    rows.push(...page.data)
    cursor = page.nextCursor
  }
  return rows
}

/** What is wrong with a ledger. All lists are empty when it tells of each instant once. */
export interface LedgerFaults {
  /** Instants that are in no entry, up to the last that there is. */
  lost: string[]
  /** Entries of what is no instant, or of one that another entry tells of too. */
  extra: string[]
  instants: number
}

/** Holds a ledger against the arithmetic of its job, from its first instant up to `untilMs`. */
export function checkLedger(job: TickingJob, rows: readonly WireOccurrence[], untilMs: number): LedgerFaults {
  const faults: LedgerFaults = { lost: [], extra: [], instants: 0 }
  const tell = (atMs: number): string => `${job.id} ${new Date(atMs).toISOString()}`
  let expectedMs = job.firstMs
  for (const { nominalAt, untilAt, count } of rows) {
    const [fromMs, lastMs] = [Date.parse(nominalAt), Date.parse(untilAt)]
    const isInstant = (fromMs - job.anchorMs) % job.everyMs === 0 && lastMs - fromMs === (count - 1) * job.everyMs
    if (!isInstant || fromMs < expectedMs) faults.extra.push(tell(fromMs))
    for (let atMs = expectedMs; atMs < fromMs; atMs += job.everyMs) faults.lost.push(tell(atMs))
    expectedMs = lastMs + job.everyMs
    faults.instants += count
  }
  for (let atMs = expectedMs; atMs < untilMs; atMs += job.everyMs) faults.lost.push(tell(atMs))
  return faults
}
