import { LRUCache } from 'lru-cache'
import { arrayLiteral, type PoolClient, runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { seeBytes } from '../flow/cel.ts'
import {
  type CarriedLimit,
  carriedLimits,
  ensureLanes,
  type Lane,
  laneOf,
  limitsAt,
  readCarriedLimits,
} from '../flow/lanes.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { factsOf, type SeenRequest } from './lane.ts'
import { decodeRequest } from './request-codec.ts'

/** Whoever starts runs that do what a version of a job says. */
export interface VersionPlace {
  tenantId: Uuid
  projectId: Uuid
  queueId: Uuid
  jobId: Uuid
  jobVersion: number
  priority: number
}

export interface JobLanes<Place> {
  /** What of them minds limits beside those of its queue. The lanes are there. */
  lanes: Map<Place, Lane>
  /** Those whose requests can't be looked at before the keys of their tenants are in memory. */
  unread: Set<Place>
}

// A version never changes, nor does what a limit holds for and counts by.
const derived = new LRUCache<string, { lane: Lane | null }>({ max: 50_000 })

/**
 * Which lanes the runs take that do what versions of jobs say: worked out once for a version and the limits that its
 * tenant has. Never loads a key: it is called inside of transactions.
 */
export async function jobLanes<Place extends VersionPlace>(
  client: PoolClient,
  keyRing: KeyRing,
  places: readonly Place[],
): Promise<JobLanes<Place>> {
  const found = await findLanes(client, keyRing, places)
  if (found.lanes.size > 0)
    await ensureLanes(
      client,
      [...found.lanes].map(([{ tenantId }, lane]) => ({ tenantId, lane })),
    )
  return found
}

/** The same without making sure that the lanes are there. */
async function findLanes<Place extends VersionPlace>(
  client: PoolClient,
  keyRing: KeyRing,
  places: readonly Place[],
): Promise<JobLanes<Place>> {
  const result: JobLanes<Place> = { lanes: new Map(), unread: new Set() }
  if (places.length === 0) return result
  const limitsOf = await readCarriedLimits(client, [...new Set(places.map(({ tenantId }) => tenantId))])
  const unknown: Wanted<Place>[] = []
  const settle = (place: Place, lane: Lane | null): void => void (lane !== null && result.lanes.set(place, lane))
  for (const place of places) {
    const { limits, needRequest } = limitsAt(limitsOf.get(place.tenantId) ?? [], place)
    if (limits.length === 0) continue
    const key = [place.jobId, place.jobVersion, place.queueId, ...limits.map(({ id }) => id)].join(' ')
    const known = derived.get(key)
    if (known !== undefined) settle(place, known.lane)
    else if (needRequest && !keyRing.has(place.tenantId)) result.unread.add(place)
    else unknown.push({ place, limits, needRequest, key })
  }
  for (const [{ place, key }, lane] of await derive(client, keyRing, unknown)) {
    derived.set(key, { lane })
    settle(place, lane)
  }
  return result
}

/** The lane that the next run would take, for whoever only looks. The keys of the tenant are in memory. */
export async function laneToCome({ client, keyRing }: Tx, place: VersionPlace): Promise<Lane | undefined> {
  return (await findLanes(client, keyRing, [place])).lanes.get(place)
}

/**
 * The lane that runs of a job take that do what it says by now; it says so until the transaction ends. Undefined: they mind
 * no limit beside those of its queue.
 */
export async function currentJobLane(tx: Tx, jobId: Uuid): Promise<Lane | undefined> {
  const { client, keyRing, tenantId } = tx
  if ((await carriedLimits(tenantId, (work) => work(client))).length === 0) return undefined
  const rows = await runNamed<[Uuid, Uuid, number, number]>(
    client,
    'hold_job_for_lane',
    `select j.project_id, j.queue_id, j.version, coalesce((v.definition->>'priority')::int, 3) from jobs j
     join job_versions v on v.tenant_id = j.tenant_id and v.job_id = j.id and v.version = j.version
     where j.tenant_id = $1 and j.id = $2 for share of j`,
    [tenantId, jobId],
  )
  if (rows[0] === undefined) return undefined
  const [projectId, queueId, jobVersion, priority] = rows[0]
  const place = { tenantId, projectId, queueId, jobId, jobVersion, priority }
  const { lanes, unread } = await jobLanes(client, keyRing, [place])
  if (unread.size === 0) return lanes.get(place)
  // They were there when the transaction began, and were forgotten since.
  await keyRing.load(tenantId)
  return (await jobLanes(client, keyRing, [place])).lanes.get(place)
}

interface Wanted<Place> {
  place: Place
  limits: CarriedLimit[]
  needRequest: boolean
  key: string
}

async function derive<Place extends VersionPlace>(
  client: PoolClient,
  keyRing: KeyRing,
  wanted: readonly Wanted<Place>[],
): Promise<[Wanted<Place>, Lane | null][]> {
  if (wanted.length === 0) return []
  const rows = await runNamed<[number, string, string[], Buffer]>(
    client,
    'versions_seen_by_limits',
    `select u.n::int, q.name, coalesce(array(select jsonb_array_elements_text(v.definition->'tags')), '{}'), v.target
     from unnest($1::uuid[], $2::uuid[], $3::int[], $4::uuid[]) with ordinality u(t, j, v, q, n)
     join job_versions v on v.tenant_id = u.t and v.job_id = u.j and v.version = u.v
     join queues q on q.tenant_id = u.t and q.id = u.q`,
    [
      arrayLiteral(wanted.map(({ place }) => place.tenantId)),
      arrayLiteral(wanted.map(({ place }) => place.jobId)),
      arrayLiteral(wanted.map(({ place }) => place.jobVersion)),
      arrayLiteral(wanted.map(({ place }) => place.queueId)),
    ],
  )
  return rows.flatMap(([ordinal, queueName, jobTags, target]) => {
    const each = wanted[ordinal - 1]
    if (each === undefined) return []
    const { place, limits, needRequest } = each
    const seen = needRequest ? openedTarget(keyRing, place, target) : nothing
    // What can't be opened can't be performed either.
    if (seen === null) return [[each, null] as [Wanted<Place>, null]]
    const lane = laneOf(limits, place, () => factsOf({ ...place, queueName, jobTags, details: undefined }, seen))
    return [[each, lane] as [Wanted<Place>, Lane | null]]
  })
}

const nothing: SeenRequest = { method: '', url: 'https://unseen.invalid', headers: {}, body: () => null }

function openedTarget(keyRing: KeyRing, { tenantId, jobId }: VersionPlace, sealed: Buffer): SeenRequest | null {
  try {
    const opened = keyRing.openSync(tenantId, jobId, sealed)
    if (opened === null) return null
    const { body, ...request } = decodeRequest(opened)
    return { ...request, body: () => seeBytes(body) }
  } catch {
    return null
  }
}
