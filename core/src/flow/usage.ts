import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { notFound } from '../kernel/errors.ts'
import { nilUuid, type Uuid } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'

/** A run that has a slot. */
interface Holder {
  runId: Uuid
  since: Date
  /** What it takes. */
  units: number
}

/** Who has slots and who waits for one. Runs of other projects are counted, and not named. */
export interface SlotUsage {
  /** Units in use. */
  used: number
  /** Runs that use them. */
  holding: number
  /** The first ten of them, those that have held longest first. */
  holders: Holder[]
  /** Runs that are due and wait. */
  waiting: number
  /** Counting stopped: there may be more that wait. */
  isLowerBound: boolean
  /** The first ten of them, in the order in which they are let through. */
  firstWaiting: { runId: Uuid; dueAt: Date }[]
  /** Since when the one waits that has waited longest. */
  waitingSince: Date | null
}

/** The same of a limit, for one value of its key. */
export interface LimitUsage extends SlotUsage {
  id: Uuid
  limitId: Uuid
  /** Empty where the limit has no key. */
  key: string
  concurrency: number | null
  /** Units that it lets through at this moment; null: nothing bounds it. */
  room: number | null
  /** Tokens of its rate that are there; null: it has none. */
  tokens: number | null
  /** When there is a token again, where there is none now. */
  nextTokenAt: Date | null
  /** Runs that count against its backlog: those that wait, and those that are due later; null: it has none. */
  backlog: number | null
}

/** A queue's own slots, and those of its organisation. */
export interface QueueUsage {
  queue: SlotUsage & { concurrency: number }
  tenant: SlotUsage & { concurrency: number }
}

const shownMax = 10

type SlotRow = [
  used: number,
  holding: number,
  holders: Uuid[] | null,
  holdingSince: Date[] | null,
  holderUnits: number[] | null,
  waiting: number,
  waitingSince: Date | null,
  first: Uuid[] | null,
  firstDue: Date[] | null,
]

/** What `from` gives as id, project_id, since and cost, as columns; $2 is the caller's project. */
const holdersOf = (from: string): string => {
  const first = (column: string) =>
    `(array_agg(x.${column} order by x.since, x.id) filter (where x.project_id = $2))[1:${shownMax}]`
  return `(select coalesce(sum(x.cost), 0)::int as used, count(*)::int as holding, ${first('id')} as holders,
    ${first('since')} as holding_since, ${first('cost')} as holder_units from (${from}) x)`
}

/** What `from` gives of `ready`. */
const waitersOf = (from: string): string => {
  const first = (column: string) =>
    `(array_agg(x.${column} order by x.priority, x.due_at, x.id) filter (where x.project_id = $2))[1:${shownMax}]`
  return `(select count(*)::int as waiting, min(x.due_at) as waiting_since, ${first('id')} as first, ${first('due_at')} as first_due
    from (${from}) x)`
}

const slotColumns =
  'h.used, h.holding, h.holders, h.holding_since, h.holder_units, w.waiting, w.waiting_since, w.first, w.first_due'

/** What waits in the queues of `q`, with a lane and without, and is held by no breaker. */
const readyOf = (queues: string, countMax: number): string => `
  select r.id, r.project_id, r.priority, r.due_at from queues q cross join lateral (
    select * from ready r where r.pool = q.pool and r.tenant_id = q.tenant_id and r.queue_id = q.id
    union all
    select * from ready r where r.pool = q.pool + 1000 and r.tenant_id = q.tenant_id and r.queue_id = q.id) r
  where q.tenant_id = $1 and ${queues} limit ${countMax}`

function toSlots(row: SlotRow, countMax: number): SlotUsage {
  const [used, holding, holders, holdingSince, units, waiting, waitingSince, first, firstDue] = row
  return {
    used,
    holding,
    holders: (holders ?? []).flatMap((runId, index) => {
      const since = holdingSince?.[index]
      return since === undefined ? [] : [{ runId, since, units: units?.[index] ?? 1 }]
    }),
    waiting,
    isLowerBound: waiting === countMax,
    firstWaiting: (first ?? []).flatMap((runId, index) => {
      const dueAt = firstDue?.[index]
      return dueAt === undefined ? [] : [{ runId, dueAt }]
    }),
    waitingSince,
  }
}

type GateRow = [
  id: Uuid,
  limitId: Uuid,
  key: string,
  concurrency: number | null,
  paused: boolean,
  tokens: number | null,
  nextTokenAt: Date | null,
  backlog: number | null,
  ...SlotRow,
]

// Nobody reads the last digits; and a page of keys may have a backlog each.
const gateCountMax = 1_000
const queueCountMax = 10_000

const inScope = (queue: string, project: string): string =>
  `(f.scope = 'tenant' or f.scope = 'project' and ${project} = f.project_id or f.scope = 'queue' and ${queue} = f.queue_id)`

/** Of the gates that `g` selects. Units in use are counted from the runs that are, as admission counts them. */
const gateStatement = (gates: string): string => `
  with f as materialized (
    select g.id as gate_id, g.key, g.full_at, f.* from gates g join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id
    where g.tenant_id = $1 and ${gates}),
  live as materialized (select h.id, h.project_id, h.queue_id, h.lane, h.since from held h where h.tenant_id = $1)
  select f.gate_id, f.id, f.key, f.concurrency, f.paused_at is not null, floor(t.tokens)::int,
    case when t.tokens < 1 then f.full_at - (f.rate_burst - 1) * f.rate_ms::float8 / f.rate_count * interval '1 millisecond' end,
    case when f.backlog_max is not null then waiting_at($1, f.gate_id, f.backlog_max) end, ${slotColumns}
  from f
  cross join lateral (select case when f.rate_count is not null
    then tokens_at(clock_timestamp(), f.full_at, f.rate_count, f.rate_ms, f.rate_burst) end as tokens) t
  cross join lateral ${holdersOf(`
    select l.id, l.project_id, l.since, 1 as cost from live l where f.is_whole and ${inScope('l.queue_id', 'l.project_id')}
    union all
    select l.id, l.project_id, l.since, lg.cost from lane_gates lg join live l on l.lane = lg.lane_id
      where not f.is_whole and lg.tenant_id = $1 and lg.gate_id = f.gate_id`)} h
  cross join lateral ${waitersOf(`
    (${readyOf(`f.is_whole and ${inScope('q.id', 'q.project_id')}`, gateCountMax)})
    union all
    (select r.id, r.project_id, r.priority, r.due_at from lane_gates lg cross join lateral (
        select * from ready r where r.tenant_id = $1 and r.lane = lg.lane_id and r.pool > 0 limit ${gateCountMax}) r
      where not f.is_whole and lg.tenant_id = $1 and lg.gate_id = f.gate_id limit ${gateCountMax})`)} w
  order by f.gate_id`

function toGate(row: GateRow): LimitUsage {
  const [id, limitId, key, concurrency, isPaused, tokens, nextTokenAt, backlog, ...slots] = row
  const usage = toSlots(slots, gateCountMax)
  const rooms = [
    ...(concurrency === null ? [] : [Math.max(0, concurrency - usage.used)]),
    ...(tokens === null ? [] : [Math.max(0, tokens)]),
    ...(isPaused ? [0] : []),
  ]
  return {
    ...usage,
    ...{ id, limitId, key, concurrency, nextTokenAt, backlog },
    tokens: tokens === null ? null : Math.max(0, tokens),
    room: rooms.length === 0 ? null : Math.min(...rooms),
  }
}

/** How much of these values of limits is used, in the order of their ids. For verbs that have checked their scope. */
export const readGates = async (tx: Tx, ids: readonly Uuid[]): Promise<LimitUsage[]> =>
  (
    await runNamed<GateRow>(tx.client, 'gates_usage', gateStatement('g.id = any($3::uuid[])'), [
      tx.tenantId,
      tx.projectId,
      ids,
    ])
  ).map(toGate)

/**
 * Who holds a limit and who waits for it: one item a value of its key that runs have had of late, or the one with `key`.
 * Throws `not-found`.
 */
export async function limitUsage(
  ctx: Ctx,
  id: Uuid,
  { key, ...page }: PageRequest & { key?: string | undefined },
): Promise<Page<LimitUsage>> {
  requireScope(ctx, 'queues:read')
  return withRead(ctx, async (tx) => {
    const rows = await runNamed<[Uuid | null]>(
      tx.client,
      'gates_of_limit',
      `select g.id from flow_limits f
       left join lateral (select g.id from gates g where g.tenant_id = $1 and g.limit_id = f.id and ($4::text is null or g.key = $4)
         and ($5::uuid is null or g.id > $5) order by g.id limit $6) g on true
       where f.tenant_id = $1 and f.id = $3 and (f.project_id is null or f.project_id = $2)`,
      [
        tx.tenantId,
        tx.projectId,
        id,
        key ?? null,
        page.cursor === undefined ? null : decodeCursor(page.cursor),
        page.limit + 1,
      ],
    )
    if (rows.length === 0) throw notFound('limit')
    const ids = rows.flatMap(([gate]) => (gate === null ? [] : [gate]))
    return toPage(await readGates(tx, ids), page.limit)
  })
}

type QueueRow = [concurrency: number, ...SlotRow]

/** As admission counts: of a queue, and of its organisation in the pool of that queue. */
const queueStatement = (held: string, queues: string, limit: string): string => `
  select l.concurrency, ${slotColumns} from queues s
  join limits l on l.tenant_id = $1 and l.queue_id = ${limit}
  cross join lateral ${holdersOf(`select h.id, h.project_id, h.since, 1 as cost from held h where h.pool = s.pool and h.tenant_id = $1 and ${held}`)} h
  cross join lateral ${waitersOf(readyOf(queues, queueCountMax))} w
  where s.tenant_id = $1 and s.project_id = $2 and s.id = $3`

const ofQueue = queueStatement('h.queue_id = s.id', 'q.id = s.id', 's.id')
const ofTenant = queueStatement('true', 'q.pool = s.pool', `'${nilUuid}'::uuid`)

/** Who holds a queue's slots and who waits for one, and the same of the organisation. Throws `not-found`. */
export async function queueUsage(ctx: Ctx, id: Uuid): Promise<QueueUsage> {
  requireScope(ctx, 'queues:read')
  return withRead(ctx, async (tx) => {
    const values = [tx.tenantId, tx.projectId, id]
    const read = async (name: string, statement: string) => {
      const [row] = await runNamed<QueueRow>(tx.client, name, statement, values)
      if (row === undefined) throw notFound('queue')
      const [concurrency, ...slots] = row
      return { ...toSlots(slots, queueCountMax), concurrency }
    }
    return { queue: await read('queue_usage', ofQueue), tenant: await read('tenant_usage', ofTenant) }
  })
}
