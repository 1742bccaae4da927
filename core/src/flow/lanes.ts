import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Pool, type PoolClient, runNamed } from '../db/client.ts'
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

const known = new LRUCache<Uuid, readonly CarriedLimit[]>({ max: 50_000, ttl: knownMs })

/** Called by whoever changes a tenant's limits, when that is true. */
export const forgetLimits = (tenantId: Uuid): void => void known.delete(tenantId)

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

/** The limits that a tenant's runs carry: asked for once in five seconds, and mostly there is none. */
export async function carriedLimits(
  tenantId: Uuid,
  read: (work: (client: PoolClient) => Promise<Row[]>) => Promise<Row[]>,
): Promise<readonly CarriedLimit[]> {
  const limits = known.get(tenantId)
  if (limits !== undefined) return limits
  const rows = await read((client) =>
    runNamed<Row>(
      client,
      'carried_limits',
      `select id, project_id, scope, queue_id, job_id, host, key_expression, cost_expression from flow_limits
       where tenant_id = $1 and (not is_whole or backlog_max is not null) order by id`,
      [tenantId],
    ),
  )
  const found = rows.map(
    ([id, projectId, scope, queueId, jobId, host, key, cost]): CarriedLimit => ({
      ...{ id, projectId, scope, queueId, jobId, host, key, cost },
    }),
  )
  known.set(tenantId, found)
  return found
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

/** Forgets lanes and gates that nobody waits in or has asked for since a day, at most `limit` of each. Returns how many. */
export async function forgetLanes(engine: Pool, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(engine, 'forget_lanes', 'select forget_lanes($1)', [limit])
  return rows[0]?.[0] ?? 0
}
