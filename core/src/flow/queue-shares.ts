import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type QueueClass, queueClasses } from './classes.ts'
import { countWaiting } from './count-waiting.ts'
import { type Claimant, exactShare } from './fair-share.ts'
import { type Line, queuesOf } from './lines.ts'

interface QueueClaim extends Claimant {
  tenantId: Uuid
  has: number
}

interface QueueShare extends QueueClaim {
  entitled: number
}

type Holding = [tenantId: Uuid, queueId: Uuid, weight: number, used: number, queueClass: number]

/**
 * Adds to the sample that was just noted what each queue has, and what it should have of that which its tenant has for its
 * class. `lines` are those in which runs wait that might have a slot, class by class.
 */
export async function noteQueueShares(
  pool: Pool,
  poolId: number,
  lines: ReadonlyMap<QueueClass, readonly Line[]>,
): Promise<void> {
  const holding = await runNamed<Holding>(
    pool,
    'queues_holding',
    `select h.tenant_id, h.queue_id, l.weight, h.used, l.class
     from (select tenant_id, queue_id, count(*)::int as used from held where pool = $1::smallint group by 1, 2) h
     join limits l on l.tenant_id = h.tenant_id and l.queue_id = h.queue_id`,
    [poolId],
  )
  const shares: QueueShare[] = []
  for (const of of queueClasses) {
    const own = holding.filter(([, , , , queueClass]) => queueClasses[queueClass] === of)
    if (own.length > 0) shares.push(...(await sharesOf(pool, poolId, own, lines.get(of) ?? [])))
  }
  await runNamed(
    pool,
    'note_queue_shares',
    `insert into queue_share_minutes as s (tenant_id, pool, minute, queue_id, received, entitled)
     select u.t, m.pool, m.minute, u.q, u.r, u.e
     from (select pool, minute from pool_minutes where pool = $1::smallint order by minute desc limit 1) m
     cross join unnest($2::uuid[], $3::uuid[], $4::float8[], $5::float8[]) u(t, q, r, e)
     on conflict (tenant_id, pool, minute, queue_id) do update
     set received = s.received + excluded.received, entitled = s.entitled + excluded.entitled`,
    [
      poolId,
      arrayLiteral(shares.map(({ tenantId }) => tenantId)),
      arrayLiteral(shares.map(({ key }) => key)),
      arrayLiteral(shares.map(({ has }) => has)),
      arrayLiteral(shares.map(({ entitled }) => entitled)),
    ],
  )
}

/** The shares of queues in what their tenants hold of the slots of a class. */
async function sharesOf(
  pool: Pool,
  poolId: number,
  holding: readonly Holding[],
  lines: readonly Line[],
): Promise<QueueShare[]> {
  const slots = new Map<Uuid, number>()
  for (const [tenantId, , , used] of holding) slots.set(tenantId, (slots.get(tenantId) ?? 0) + used)
  const claims = claimsOf(holding, await counted(pool, poolId, lines, slots))
  return [...Map.groupBy(claims, ({ tenantId }) => tenantId)].flatMap(([tenantId, own]) => {
    const exact = exactShare(own, slots.get(tenantId) ?? 0)
    return own.map((claim, index) => ({ ...claim, entitled: exact[index] ?? 0 }))
  })
}

/** The lines with how many wait in them, as far as it matters: where a tenant has slots that several of its queues want. */
async function counted(
  pool: Pool,
  poolId: number,
  lines: readonly Line[],
  slots: ReadonlyMap<Uuid, number>,
): Promise<Line[]> {
  const wanted = lines.filter(({ tenantId }) => slots.has(tenantId))
  const uncounted = wanted.filter(({ wants }) => wants === Number.POSITIVE_INFINITY)
  if (uncounted.length === 0) return wanted
  const counts = await countWaiting(pool, poolId, uncounted, slots)
  return wanted.map((line) => ({ ...line, wants: counts.get(line) ?? line.wants }))
}

/** Every queue begins with nothing, and wants what it has and what waits. */
function claimsOf(holding: readonly Holding[], lines: readonly Line[]): QueueClaim[] {
  const claims = new Map<Uuid, QueueClaim>(
    holding.map(([tenantId, key, weight, has]) => [key, { tenantId, key, weight, used: 0, wants: has, has }]),
  )
  for (const { key, weight, wants, lines: own } of queuesOf(lines)) {
    const tenantId = own[0]?.tenantId
    if (tenantId === undefined) continue
    const { has = 0 } = claims.get(key) ?? {}
    claims.set(key, { tenantId, key, weight, used: 0, wants: has + wants, has })
  }
  return [...claims.values()]
}
