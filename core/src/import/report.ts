import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type Match, type MatchOutcome, matchOutcomes, matchPings, type PingAt, timeOf } from '../ping/match.ts'
import { openPingUrlsOf } from '../ping/ping-url.ts'
import type { PingKind } from '../ping/record.ts'
import { type ImportedJob, readImportedJobs } from './get.ts'

export type MatchCounts = Record<MatchOutcome, number> & { failed: number }

export interface MatchedJob extends ImportedJob {
  counts: MatchCounts
  lastPingAt: Date | null
  /** The newest of them, newest first. */
  matches: Match[]
}

export interface MatchReport {
  from: Date
  to: Date
  totals: MatchCounts
  /** Equal slices of the range. */
  buckets: { from: Date; to: Date; counts: MatchCounts }[]
  jobs: MatchedJob[]
  /** There was more than is looked at: give a shorter range. */
  isCut: boolean
}

export interface ReportRange {
  from: Date
  to: Date
  graceMs: number
  buckets: number
}

const lookedAtMax = 100_000
const shownMax = 50
const earlyMs = 5_000
const lateMs = 60_000

/**
 * Holds the instants of an import's jobs against the pings of the system they come from, from inclusive, to exclusive.
 * Throws `not-found`.
 */
export async function reportImport(
  ctx: Ctx,
  id: Uuid,
  { from, to, graceMs, buckets }: ReportRange,
): Promise<MatchReport> {
  requireScope(ctx, 'jobs:read')
  const { jobs, expected, pings, nowMs } = await withRead(ctx, async (tx) => {
    const found = await readImportedJobs(tx, id)
    const ids = found.map((job) => job.id)
    const now = await tx.client.query<{ ms: number }>(
      'select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
    )
    return {
      jobs: found,
      nowMs: now.rows[0]?.ms ?? tx.clock.nowMs(),
      expected: await readExpected(tx, ids, { from, to }),
      // What is expected last may be told of after the range.
      pings: await readPings(tx, ids, {
        from: new Date(from.getTime() - earlyMs),
        to: new Date(to.getTime() + graceMs),
      }),
    }
  })
  const rules = { earlyMs, lateMs, graceMs, nowMs }
  const width = (to.getTime() - from.getTime()) / buckets
  const slices = Array.from({ length: buckets }, (_, index) => ({
    from: new Date(from.getTime() + index * width),
    to: new Date(from.getTime() + (index + 1) * width),
    counts: noCounts(),
  }))
  const totals = noCounts()
  const matched = jobs.map((job): MatchedJob => {
    const heard = pings.byJob.get(job.id) ?? []
    // What was not expected after the range is a matter of the next one.
    const matches = matchPings(expected.byJob.get(job.id) ?? [], heard, rules).filter((match) =>
      isWithin(timeOf(match), from, to),
    )
    const counts = noCounts()
    for (const match of matches) {
      const slice = slices[Math.min(buckets - 1, Math.floor((timeOf(match) - from.getTime()) / width))]
      for (const each of [totals, counts, ...(slice === undefined ? [] : [slice.counts])]) {
        each[match.outcome]++
        if (match.hasFailed) each.failed++
      }
    }
    const last = heard.at(-1)
    return {
      ...job,
      counts,
      lastPingAt: last === undefined ? null : new Date(last.atMs),
      matches: matches.slice(-shownMax).reverse(),
    }
  })
  return { from, to, totals, buckets: slices, jobs: matched, isCut: expected.isCut || pings.isCut }
}

const noCounts = (): MatchCounts => ({
  ...(Object.fromEntries(matchOutcomes.map((name) => [name, 0])) as Record<MatchOutcome, number>),
  failed: 0,
})
const isWithin = (at: number, from: Date, to: Date): boolean => at >= from.getTime() && at < to.getTime()

interface Found<Item> {
  byJob: Map<Uuid, Item[]>
  isCut: boolean
}

/** What a calendar, a blackout or a pause kept back was not expected of the old system either. */
async function readExpected(
  tx: Tx,
  ids: readonly Uuid[],
  { from, to }: { from: Date; to: Date },
): Promise<Found<number>> {
  const { rows } = await tx.client.query<{ job_id: Uuid; at: Date }>(
    `select job_id, nominal_at as at from occurrences where tenant_id = $1 and job_id = any($2::uuid[]) and nominal_at >= $3 and nominal_at < $4
       and (outcome <> 'skipped' or reason in ('shadow', 'overlap')) order by nominal_at limit $5`,
    [tx.tenantId, ids, from, to, lookedAtMax],
  )
  return { byJob: grouped(rows, ({ at }) => at.getTime()), isCut: rows.length === lookedAtMax }
}

async function readPings(tx: Tx, ids: readonly Uuid[], { from, to }: { from: Date; to: Date }): Promise<Found<PingAt>> {
  const { rows } = await tx.client.query<{ job_id: Uuid; at: Date; kind: PingKind }>(
    `select job_id, at, kind from pings where tenant_id = $1 and job_id = any($2::uuid[]) and at >= $3 and at < $4
     order by at, id limit $5`,
    [tx.tenantId, ids, from, to, lookedAtMax],
  )
  return { byJob: grouped(rows, ({ at, kind }) => ({ atMs: at.getTime(), kind })), isCut: rows.length === lookedAtMax }
}

function grouped<Row extends { job_id: Uuid }, Item>(rows: Row[], toItem: (row: Row) => Item): Map<Uuid, Item[]> {
  const byJob = new Map<Uuid, Item[]>()
  for (const row of rows) {
    const items = byJob.get(row.job_id)
    if (items === undefined) byJob.set(row.job_id, [toItem(row)])
    else items.push(toItem(row))
  }
  return byJob
}

/** The ping URL of each job of an import, made where there is none: what the old system calls. Throws `not-found`. */
export async function openImportPingUrls(
  ctx: Ctx,
  id: Uuid,
): Promise<{ jobId: Uuid; line: number; name: string; token: string }[]> {
  requireScope(ctx, 'jobs:write')
  await ctx.keyRing.load(ctx.tenantId)
  return withTx(ctx, async (tx) => {
    const jobs = await readImportedJobs(tx, id)
    const urls = await openPingUrlsOf(
      tx,
      jobs.map((job) => job.id),
      false,
    )
    return jobs.flatMap(({ id: jobId, line, name }) => {
      const token = urls.get(jobId)?.token
      return token === undefined ? [] : [{ jobId, line, name, token }]
    })
  })
}
