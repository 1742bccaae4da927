import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import { firstInstant } from '../job/write-schedule.ts'
import { nilUuid, type Uuid } from '../kernel/ids.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { type Finding, findingsMax } from './look.ts'

/** What an alarm may be about. */
export interface Subject {
  tenantId: Uuid
  subject: Uuid
}

export interface AstrayLook {
  findings: Finding[]
  /** Whose alarms are settled by this look. */
  looked: Subject[]
  /** How far the round has come; null: to its end. */
  reached: Subject | null
}

/** So many are worked out in some 40 ms. */
const pageSizeDefault = 250
/** What a ledger should tell of is looked for this far back. */
const backMs = 31 * 86_400_000
/** How far ahead of time instants are decided. */
const ahead = "interval '5 seconds'"

interface Standing extends Finding {
  spec: FullSchedule
  nextMs: number | null
  runsLeft: number | null
  isPaused: boolean
  /** The last instant that the ledger tells of, of late. */
  lastMs: number | null
  /** Since when the schedule is as it is. */
  fromMs: number
  nowMs: number
}

/** Where the last look at a shard's schedules ended. */
export async function readRound(engine: Pool, shard: number): Promise<Subject | null> {
  const text = 'select seen_tenant, seen_job from watchdog_passes where shard_id = $1 and seen_job is not null'
  const [row] = await runNamed<[Uuid, Uuid]>(engine, 'watchdog_round', text, [shard])
  return row === undefined ? null : { tenantId: row[0], subject: row[1] }
}

/**
 * The next schedules of a round, and those that have such an alarm: which of them would leave out an instant, since they mean
 * to go on later than after the last instant of their ledger, or not at all. A round goes over all of them, a page a look.
 */
export async function lookForAstray(
  engine: Pool,
  { shard, since, pageSize = pageSizeDefault }: { shard: number; since: Subject | null; pageSize?: number },
): Promise<AstrayLook> {
  const page = await readStandings(
    engine,
    'of_round',
    `s.shard_id = $1 and (s.tenant_id, s.job_id) > ($2, $3) order by s.tenant_id, s.job_id limit $4`,
    [shard, since?.tenantId ?? nilUuid, since?.subject ?? nilUuid, pageSize],
  )
  const open = await readOpen(engine, shard)
  const alarmed = await readStandings(
    engine,
    'alarmed',
    's.shard_id = $1 and (s.tenant_id, s.job_id) in (select * from unnest($2::uuid[], $3::uuid[]))',
    [shard, arrayLiteral(open.map(({ tenantId }) => tenantId)), arrayLiteral(open.map(({ subject }) => subject))],
  )
  const findings: Finding[] = []
  for (const standing of new Map([...page, ...alarmed].map((each) => [each.subject, each])).values()) {
    // The ledger tells of long stretches in one row, which may have begun long ago.
    if (!isAstray(standing) || !isAstray({ ...standing, lastMs: await readLast(engine, standing) })) continue
    const { tenantId, projectId, subject, nextMs, nowMs } = standing
    findings.push({ tenantId, projectId, subject, sinceMs: Math.min(nextMs ?? nowMs, nowMs) })
  }
  const last = page.length < pageSize ? undefined : page.at(-1)
  return {
    findings,
    looked: [...page, ...open].map(({ tenantId, subject }) => ({ tenantId, subject })),
    reached: last === undefined ? null : { tenantId: last.tenantId, subject: last.subject },
  }
}

function isAstray({ spec, subject, nextMs, runsLeft, isPaused, lastMs, fromMs, nowMs }: Standing): boolean {
  if (isPaused || runsLeft === 0) return false
  try {
    const expected = firstInstant(spec, subject, Math.max(lastMs ?? 0, fromMs, nowMs - backMs))
    return expected !== null && (nextMs === null || nextMs > expected.getTime())
  } catch {
    // One that can't be computed is told of by its scheduler.
    return false
  }
}

const ms = (value: string): string => `round(extract(epoch from ${value})::float8 * 1000)`

type Row = [
  ...ids: [Uuid, Uuid, Uuid],
  spec: FullSchedule,
  nextMs: number | null,
  runsLeft: number | null,
  isPaused: boolean,
  lastMs: number | null,
  fromMs: number,
  nowMs: number,
]

async function readStandings(engine: Pool, name: string, which: string, values: unknown[]): Promise<Standing[]> {
  const rows = await runNamed<Row>(
    engine,
    `standings_${name}`,
    `select s.tenant_id, s.project_id, s.job_id, s.spec, ${ms('s.next_at')}, s.runs_left, s.paused,
       (select ${ms('coalesce(o.until_at, o.nominal_at)')} from occurrences o
         where o.tenant_id = s.tenant_id and o.job_id = s.job_id and o.nominal_at > now() - interval '${backMs} milliseconds'
           and o.nominal_at <= now() + ${ahead} + s.lead_ms * interval '1 millisecond' order by o.nominal_at desc limit 1),
       (select ${ms('max(p.from_at)')} from schedule_spans p where p.tenant_id = s.tenant_id and p.job_id = s.job_id),
       ${ms('now()')}
     from schedules s where ${which}`,
    values,
  )
  return rows.map(([tenantId, projectId, subject, spec, nextMs, runsLeft, isPaused, lastMs, fromMs, nowMs]) => ({
    ...{ tenantId, projectId, subject, spec, nextMs, runsLeft, isPaused, lastMs, fromMs, nowMs },
    sinceMs: nowMs,
  }))
}

/** The last instant that a job's ledger tells of, however long ago. */
async function readLast(engine: Pool, { tenantId, subject }: Standing): Promise<number | null> {
  const [row] = await runNamed<[number | null]>(
    engine,
    'last_instant',
    `select ${ms('max(coalesce(o.until_at, o.nominal_at))')} from occurrences o
     join schedules s on s.tenant_id = o.tenant_id and s.job_id = o.job_id
     where o.tenant_id = $1 and o.job_id = $2 and o.nominal_at <= now() + ${ahead} + s.lead_ms * interval '1 millisecond'`,
    [tenantId, subject],
  )
  return row?.[0] ?? null
}

/** Of this shard, or of jobs that have no schedule any more. */
async function readOpen(engine: Pool, shard: number): Promise<Subject[]> {
  const rows = await runNamed<[Uuid, Uuid]>(
    engine,
    'open_astray',
    `select a.tenant_id, a.subject from alarms a left join schedules s on s.tenant_id = a.tenant_id and s.job_id = a.subject
     where a.kind = 'schedule-astray' and a.cleared_at is null and coalesce(s.shard_id, $1) = $1 limit ${findingsMax}`,
    [shard],
  )
  return rows.map(([tenantId, subject]) => ({ tenantId, subject }))
}
