import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { queueClasses } from './classes.ts'
import { countWaiting } from './count-waiting.ts'
import { type Claimant, exactShare } from './fair-share.ts'
import { type ClassedLine, type Line, linesByClass, tenantsOf } from './lines.ts'
import { noteQueueShares } from './queue-shares.ts'

interface Standing {
  lines: ClassedLine[]
  /** Those that have slots in use. */
  tenants: [id: Uuid, weight: number, used: number, queueClass: number][]
}

interface Share {
  received: number
  entitled: number
}

/** How often a share is worked out again when some turn out to want less than theirs. */
const roundsMax = 4

/**
 * Takes a sample of a pool: what each tenant and each queue has of the slots in use, and what it should have, were those of
 * each class divided anew at this moment. It asks nobody who divides. Returns how even the shares of this minute have been so far; null when there
 * was nothing to share, or somebody else took this sample.
 */
export async function sampleShares(pool: Pool, poolId: number): Promise<number | null> {
  const rows = await runNamed<[Standing | null]>(pool, 'pool_standing', 'select pool_standing($1::smallint)', [poolId])
  const standing = rows[0]?.[0]
  if (standing == null) return null
  const shares = new Map<Uuid, Share>()
  const lines = linesByClass(standing.lines)
  for (const of of queueClasses) {
    const tenants = standing.tenants.filter(([, , , queueClass]) => queueClasses[queueClass] === of)
    for (const [id, { received, entitled }] of await sharesOf(pool, poolId, tenants, lines.get(of) ?? [])) {
      const sum = shares.get(id) ?? { received: 0, entitled: 0 }
      shares.set(id, { received: sum.received + received, entitled: sum.entitled + entitled })
    }
  }
  const noted = await runNamed<[number | null]>(
    pool,
    'note_shares',
    'select note_shares($1::smallint, $2::uuid[], $3::float8[], $4::float8[])',
    [
      poolId,
      arrayLiteral([...shares.keys()]),
      arrayLiteral([...shares.values()].map(({ received }) => received)),
      arrayLiteral([...shares.values()].map(({ entitled }) => entitled)),
    ],
  )
  const jain = noted[0]?.[0] ?? null
  if (jain !== null) await noteQueueShares(pool, poolId, lines)
  return jain
}

/** The shares of tenants in the slots of a class. */
async function sharesOf(
  pool: Pool,
  poolId: number,
  tenants: Standing['tenants'],
  waiting: Line[],
): Promise<Map<Uuid, Share>> {
  let lines = waiting
  const slots = tenants.reduce((sum, [, , used]) => sum + used, 0)
  let claimants = claimantsOf(tenants, lines)
  let entitled = exactShare(claimants, slots)
  for (let round = 0; round < roundsMax; round++) {
    // Nobody has counted how many wait where; it matters where so many would be let through.
    const least = new Map(claimants.map(({ key, has }, index) => [key, Math.ceil((entitled[index] ?? 0) - has)]))
    const uncounted = lines.filter(
      ({ tenantId, wants }) => wants === Number.POSITIVE_INFINITY && (least.get(tenantId) ?? 0) > 0,
    )
    if (uncounted.length === 0) break
    const counts = await countWaiting(pool, poolId, uncounted, least)
    lines = lines.map((line) => {
      const count = counts.get(line)
      return count === undefined || count >= (least.get(line.tenantId) ?? 0) ? line : { ...line, wants: count }
    })
    if ([...counts].every(([{ tenantId }, count]) => count >= (least.get(tenantId) ?? 0))) break
    claimants = claimantsOf(tenants, lines)
    entitled = exactShare(claimants, slots)
  }
  return new Map(claimants.map(({ key, has }, index) => [key, { received: has, entitled: entitled[index] ?? 0 }]))
}

/** Everybody begins with nothing, and wants what it has and what waits. */
function claimantsOf(tenants: Standing['tenants'], lines: readonly Line[]): (Claimant & { has: number })[] {
  const waiting = new Map(tenantsOf(lines).map((tenant) => [tenant.key, tenant]))
  const having = tenants.map(([key, weight, has]) => {
    const more = waiting.get(key)?.wants ?? 0
    waiting.delete(key)
    return { key, weight, used: 0, wants: has + more, has }
  })
  return [
    ...having,
    ...[...waiting.values()].map(({ key, weight, wants }) => ({ key, weight, used: 0, wants, has: 0 })),
  ]
}
