import { findVirtual } from '../clock/virtual.ts'
import { arrayLiteral, type PoolClient, runNamed } from '../db/client.ts'
import { type Uuid, uuidTimeMs } from '../kernel/ids.ts'
import { showKey } from './create-key.ts'
import type { CreateKey, Metadata } from './details.ts'
import { type Run, type RunStatus, runSources, statusOf } from './run.ts'

/** Partitions are looked for by time; a new primary's clock may stand behind the old one's. */
export const clockSlack = "interval '1 day'"

// A run lives in exactly one of five tables; one statement, so one snapshot, sees it in exactly one place.
const openColumns = (alias: string): string =>
  `${alias}.attempt, ${alias}.attempts_max, ${alias}.fence, ${alias}.due_at`

/** Which weeks to look in; without a bound, all of them. */
interface Weeks {
  inputs: string
  runs: string
}

/**
 * `page` must be a CTE with a column `id`; $1 is the tenant, $2 the project. All by probes: a join of `page` with tables
 * that were small when they were analysed reads all runs of the project.
 */
const facts = (weeks: Weeks): string => `
  select i.id, i.project_id, i.job_id, i.job_version, i.queue_id, q.name, i.source, i.priority, i.created_at, i.nominal_at, i.replay_of,
    coalesce(r.state, h.state), r.attempt, r.fence, r.due_at, r.started_at, r.ended_at, r.duration_ms, r.http_status, r.error,
    ${openColumns('h')}, h.since, ${openColumns('w')}, ${openColumns('d')}, i.due_at, x.tags, x.metadata, x.callback_of, x.batch_id,
    x.key_kind, x.key_scope, x.key,
    case when i.job_version is not null then (select v.definition->'tags' from job_versions v
      where v.tenant_id = i.tenant_id and v.job_id = i.job_id and v.version = i.job_version) end
  from page
  cross join lateral (
    select * from inputs i where i.tenant_id = $1 and i.project_id = $2 and i.id = page.id and ${weeks.inputs} offset 0) i
  cross join lateral (select name from queues q where q.tenant_id = i.tenant_id and q.id = i.queue_id offset 0) q
  left join lateral (
    select * from runs r where r.tenant_id = i.tenant_id and r.project_id = i.project_id and r.id = i.id and ${weeks.runs}
    offset 0) r on true
  left join lateral (
    select * from held h where h.pool = i.pool and h.tenant_id = i.tenant_id and h.queue_id = i.queue_id and h.id = i.id offset 0) h
    on r.id is null
  left join lateral (select * from ready w where w.tenant_id = i.tenant_id and w.id = i.id offset 0) w on r.id is null
  left join lateral (select * from due d where d.tenant_id = i.tenant_id and d.id = i.id offset 0) d on r.id is null
  left join lateral (
    select * from run_details x where x.tenant_id = i.tenant_id and x.run_id = i.id offset 0) x on true
  order by i.id desc`

type Place = [attempt: number | null, attemptsMax: number | null, fence: number | null, dueAt: Date | null]
type FactRow = [
  Uuid,
  Uuid,
  Uuid | null,
  number | null,
  Uuid,
  string,
  number,
  number,
  Date,
  Date | null,
  Uuid | null,
  number | null,
  number | null,
  number | null,
  Date | null,
  Date | null,
  Date | null,
  number | null,
  number | null,
  string | null,
  ...Place,
  Date | null,
  ...Place,
  ...Place,
  Date,
  tags: string[] | null,
  metadata: Metadata | null,
  callbackOf: Uuid | null,
  batchRunId: Uuid | null,
  keyKind: CreateKey['kind'] | null,
  keyScope: Uuid | null,
  key: string | null,
  jobTags: string[] | null,
]

const everywhere = facts({ inputs: 'true', runs: `r.ended_at >= i.created_at - ${clockSlack}` })

/** A run that was picked. Null: it ended so long ago that its history is gone, while what it was is still kept. */
interface Picked {
  id: Uuid
  run: Run | null
}

/**
 * The runs that a driver statement picks, newest first, each with where it stands now. `driver` selects a column
 * `id` and may use $1 (tenant), $2 (project) and further values from $3 on.
 */
export async function selectRuns(
  client: PoolClient,
  name: string,
  driver: string,
  values: unknown[],
): Promise<Picked[]> {
  const rows = await runNamed<FactRow>(client, name, `with page as materialized (${driver}) ${everywhere}`, values)
  const [tenantId, projectId] = values as [Uuid, Uuid]
  const toOwn = await byClock(client, tenantId, projectId)
  return rows.map((row) => ({ id: row[0], run: toOwn(row) }))
}

/** What one look at a list found. */
interface FoundPage {
  runs: Run[]
  /** Where the next look goes on; null when there is nothing more. */
  nextId: Uuid | null
  /** Fewer than were asked for, whether or not there are more. */
  isShort: boolean
}

/**
 * The same for a page: `ctes` make `page`, as above, and `rest`, one row that says where the next page goes on and whether
 * this one is short.
 */
export async function selectPage(
  client: PoolClient,
  name: string,
  ctes: string,
  values: unknown[],
): Promise<FoundPage> {
  const rows = await runNamed<[nextId: Uuid | null, isShort: boolean, ...(FactRow | [null])]>(
    client,
    name,
    `with ${ctes} select rest.id, rest.is_short, f.* from rest left join lateral (${everywhere}) f on true order by f.id desc`,
    values,
  )
  const [tenantId, projectId] = values as [Uuid, Uuid]
  const toOwn = await byClock(client, tenantId, projectId)
  const runs = rows.flatMap(([, , ...row]) => (row[0] === null ? [] : (toOwn(row as FactRow) ?? [])))
  return { runs, nextId: rows[0]?.[0] ?? null, isShort: rows[0]?.[1] ?? true }
}

const dayMs = 86_400_000
const nearWeeks = facts({ inputs: 'i.keep_week = $4', runs: 'r.ended_at >= $5 and r.ended_at < $6' })

/** One run by its id, or null. */
export const selectRun = async (client: PoolClient, tenantId: Uuid, projectId: Uuid, id: Uuid): Promise<Run | null> =>
  (await selectRunsById(client, tenantId, projectId, [id])).get(id) ?? null

/**
 * Runs by their ids; one that is not there is not in the answer. Most runs are due in the week of their creation and end
 * within another, so those partitions are asked first; only for the others all are.
 */
export async function selectRunsById(
  client: PoolClient,
  tenantId: Uuid,
  projectId: Uuid,
  ids: readonly Uuid[],
): Promise<Map<Uuid, Run>> {
  const found = new Map<Uuid, Run>()
  const keep = (id: Uuid, run: Run | null): void => void (run !== null && found.set(id, run))
  const toOwn = await byClock(client, tenantId, projectId)
  const byWeek = Map.groupBy(ids, (id) => weekOf(uuidTimeMs(id)))
  for (const [week, these] of byWeek) {
    const times = these.map(uuidTimeMs)
    const near = await runNamed<FactRow>(
      client,
      'get_runs_near',
      `with page as (select unnest($3::uuid[]) as id) ${nearWeeks}`,
      [
        tenantId,
        projectId,
        arrayLiteral(these),
        week,
        new Date(Math.min(...times) - dayMs),
        new Date(Math.max(...times) + 7 * dayMs),
      ],
    )
    for (const row of near) keep(row[0], toOwn(row))
  }
  // Where it was not said where a run stands, its end lies in a week that was not asked.
  const others = ids.filter((id) => !found.has(id))
  if (others.length === 0) return found
  const values = [tenantId, projectId, arrayLiteral(others)]
  for (const { id, run } of await selectRuns(client, 'get_runs', 'select unnest($3::uuid[]) as id', values))
    keep(id, run)
  return found
}

/** In a project with a test clock a run is due when that clock says so, whatever the real instant was. */
async function byClock(client: PoolClient, tenantId: Uuid, projectId: Uuid): Promise<typeof toRun> {
  if (!(await findVirtual(client, [{ tenantId, projectId }])).has(projectId)) return toRun
  return (row) => {
    const run = toRun(row)
    // A next try waits for an instant of its own.
    return run === null || (run.status === 'scheduled' && run.attempt > 0) ? run : { ...run, dueAt: row[33] }
  }
}

/** The Monday (UTC) of an instant's week, as partitions are named. */
function weekOf(ms: number): string {
  const date = new Date(ms)
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
  return date.toISOString().slice(0, 10)
}

const allTags = (own: string[], ofJob: string[]): string[] =>
  own.length + ofJob.length === 0 ? [] : [...new Set([...own, ...ofJob])].toSorted()

function toRun(row: FactRow): Run | null {
  const [id, projectId, jobId, jobVersion, queueId, queueName, source, priority, createdAt, nominalAt, replayOf] = row
  const [keyKind, keyScope, key] = row.slice(38, 41) as [CreateKey['kind'] | null, Uuid | null, string | null]
  const base = {
    id,
    projectId,
    jobId,
    jobVersion,
    queueId,
    queueName,
    priority,
    createdAt,
    nominalAt,
    replayOf,
    source: runSources[source] ?? 'api',
    tags: allTags(row[34] ?? [], row[41] ?? []),
    metadata: row[35] ?? {},
    callbackOf: row[36],
    batchRunId: row[37],
    createKey:
      keyKind === null || keyScope === null || key === null
        ? null
        : showKey({ kind: keyKind, scope: keyScope, key }, { projectId, jobId }),
  }
  const [state, attempt, fence, dueAt, startedAt, endedAt, durationMs, httpStatus, error] = row.slice(11, 20) as [
    number | null,
    number | null,
    number | null,
    Date | null,
    Date | null,
    Date | null,
    number | null,
    number | null,
    string | null,
  ]
  if (state !== null && attempt !== null) {
    return {
      ...base,
      status: statusOf(state),
      attempt,
      attemptsMax: null,
      fence: fence ?? 0,
      dueAt: dueAt ?? row[33],
      startedAt,
      finishedAt: endedAt,
      durationMs,
      latenessMs: startedAt && dueAt ? startedAt.getTime() - dueAt.getTime() : null,
      httpStatus,
      error,
    }
  }
  const held = row.slice(20, 24) as Place
  const since = row[24]
  const ready = row.slice(25, 29) as Place
  const due = row.slice(29, 33) as Place
  if (held[0] === null && ready[0] === null && due[0] === null) return null
  const [status, place]: [RunStatus, Place] =
    held[0] !== null ? [statusOf(state ?? 2), held] : ready[0] !== null ? ['ready', ready] : ['scheduled', due]
  const started = status === 'running' ? since : null
  const placeDueAt = place[3] ?? row[33]
  return {
    ...base,
    status,
    attempt: place[0] ?? 0,
    attemptsMax: place[1],
    fence: place[2] ?? 0,
    dueAt: placeDueAt,
    startedAt: started,
    finishedAt: null,
    durationMs: null,
    latenessMs: started ? started.getTime() - placeDueAt.getTime() : null,
    httpStatus: null,
    error: null,
  }
}
