import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { arrayLiteral, type Pool, type PoolClient, runNamed, textArrayLiteral } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { costOf, keyOf, type RunFacts } from './expression.ts'

/** One value of a limit's key, and the units that a run takes of it. */
export interface Gate {
  id: Uuid
  limitId: Uuid
  key: string
  cost: number
}

/** What a run has before it beside its queue: runs that have the same wait in one lane. */
export interface Lane {
  id: Uuid
  gates: Gate[]
}

/** A limit that runs carry, since it can't be told from their queue alone. */
export interface CarriedLimit {
  id: Uuid
  projectId: Uuid | null
  scope: 'tenant' | 'project' | 'queue' | 'job' | 'host'
  queueId: Uuid | null
  jobId: Uuid | null
  host: string | null
  key: string | null
  cost: string | null
}

/** Where a run is accepted. */
export interface RunPlace {
  projectId: Uuid
  queueId: Uuid
  jobId: Uuid | null
}

/** How long another process may not know of a limit that is new. */
const knownMs = 5_000

// What is asked for is kept, not the answer: the rows of a batch ask all at once.
const known = new LRUCache<Uuid, Promise<readonly CarriedLimit[]>>({ max: 50_000, ttl: knownMs })

/** Called by whoever changes a tenant's limits, when that is true. */
export const forgetLimits = (tenantId: Uuid): void => void known.delete(tenantId)

const carriedColumns = 'id, project_id, scope, queue_id, job_id, host, key_expression, cost_expression'

type Row = [
  id: Uuid,
  projectId: Uuid | null,
  scope: CarriedLimit['scope'],
  queueId: Uuid | null,
  jobId: Uuid | null,
  host: string | null,
  key: string | null,
  cost: string | null,
]

/** Which limits runs carry, as SQL. */
export const isCarried = (limits = 'flow_limits'): string =>
  `(not ${limits}.is_whole or ${limits}.backlog_max is not null)`

const toCarried = ([id, projectId, scope, queueId, jobId, host, key, cost]: [...Row, ...unknown[]]): CarriedLimit => ({
  ...{ id, projectId, scope, queueId, jobId, host, key, cost },
})

/** The limits that the runs of these tenants carry at this moment. */
export async function readCarriedLimits(
  client: Pool | PoolClient,
  tenantIds: readonly Uuid[],
): Promise<Map<Uuid, CarriedLimit[]>> {
  const rows = await runNamed<[...Row, tenantId: Uuid]>(
    client,
    'carried_limits_of_many',
    `select ${carriedColumns}, tenant_id from flow_limits where tenant_id = any($1::uuid[]) and ${isCarried()} order by id`,
    [arrayLiteral(tenantIds)],
  )
  const found = new Map<Uuid, CarriedLimit[]>()
  for (const [tenantId, own] of Map.groupBy(rows, (row) => row[8])) found.set(tenantId, own.map(toCarried))
  return found
}

/** The limits that a tenant's runs carry: asked for once in five seconds, and mostly there is none. */
export function carriedLimits(
  tenantId: Uuid,
  read: (work: (client: PoolClient) => Promise<Row[]>) => Promise<Row[]>,
): Promise<readonly CarriedLimit[]> {
  const asked = known.get(tenantId)
  if (asked !== undefined) return asked
  const limits = read((client) =>
    runNamed<Row>(
      client,
      'carried_limits',
      `select ${carriedColumns} from flow_limits where tenant_id = $1 and ${isCarried()} order by id`,
      [tenantId],
    ),
  ).then((rows) => rows.map(toCarried))
  known.set(tenantId, limits)
  limits.catch(() => {
    if (known.peek(tenantId) === limits) known.delete(tenantId)
  })
  return limits
}

/** The lane that a run takes; null when it minds none of these limits. The facts are asked for only where one may hold. */
export function laneOf(limits: readonly CarriedLimit[], place: RunPlace, factsOf: () => RunFacts): Lane | null {
  if (limits.length === 0) return null
  let facts: RunFacts | undefined
  const gates: Gate[] = []
  for (const limit of limits) {
    if (!mayHold(limit, place)) continue
    facts ??= factsOf()
    if (limit.host !== null && !isHost(limit.host, facts.host)) continue
    const key = limit.key === null ? '' : keyOf(limit.key, facts)
    const cost = limit.cost === null ? 1 : costOf(limit.cost, facts)
    gates.push({ id: limit.key === null ? limit.id : idOf([limit.id, key]), limitId: limit.id, key, cost })
  }
  if (gates.length === 0) return null
  return { id: idOf([place.queueId, ...gates.flatMap(({ id, cost }) => [id, String(cost)])]), gates }
}

/** Those of the limits that hold for what is started there, as far as its place says; and whether its request says more. */
export function limitsAt(
  limits: readonly CarriedLimit[],
  place: RunPlace,
): { limits: CarriedLimit[]; needRequest: boolean } {
  const own = limits.filter((limit) => mayHold(limit, place))
  return { limits: own, needRequest: own.some(({ host, key, cost }) => (host ?? key ?? cost) !== null) }
}

const mayHold = (limit: CarriedLimit, { projectId, queueId, jobId }: RunPlace): boolean =>
  (limit.projectId === null || limit.projectId === projectId) &&
  (limit.queueId === null || limit.queueId === queueId) &&
  (limit.jobId === null || limit.jobId === jobId)

/** `*.example.com` is every host below it; without a port, every port is meant. */
function isHost(pattern: string, host: string): boolean {
  const named = /:\d+$/.test(pattern) ? host : host.replace(/:\d+$/, '')
  return pattern.startsWith('*.') ? named.endsWith(pattern.slice(1)) : named === pattern
}

/** Equal parts give equal ids, in every process. */
function idOf(parts: readonly string[]): Uuid {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** The lanes of rows with their gates, as columns. */
export function laneColumns(rows: readonly { tenantId: Uuid; lane: Lane | null }[]): string[] {
  const lanes = new Map(rows.flatMap(({ tenantId, lane }) => (lane === null ? [] : [[lane.id, { tenantId, lane }]])))
  const flat = [...lanes.values()].flatMap(({ tenantId, lane }) =>
    lane.gates.map((gate) => ({ tenantId, laneId: lane.id, gate })),
  )
  return [
    arrayLiteral(flat.map(({ tenantId }) => tenantId)),
    arrayLiteral(flat.map(({ laneId }) => laneId)),
    arrayLiteral(flat.map(({ gate }) => gate.id)),
    arrayLiteral(flat.map(({ gate }) => gate.limitId)),
    textArrayLiteral(flat.map(({ gate }) => gate.key)),
    arrayLiteral(flat.map(({ gate }) => gate.cost)),
  ]
}

/** Makes sure that there are these lanes, for runs that are about to take them. */
export const ensureLanes = async (
  client: PoolClient,
  rows: readonly { tenantId: Uuid; lane: Lane | null }[],
): Promise<void> =>
  void (await runNamed(client, 'ensure_lanes', 'select ensure_lanes($1, $2, $3, $4, $5, $6)', laneColumns(rows)))

/** Forgets lanes and gates that nobody waits in or has asked for since a day, at most `limit` of each. Returns how many. */
export async function forgetLanes(engine: Pool, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(engine, 'forget_lanes', 'select forget_lanes($1)', [limit])
  return rows[0]?.[0] ?? 0
}
