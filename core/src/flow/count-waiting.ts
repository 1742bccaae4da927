import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { Line } from './lines.ts'

/** How many runs wait in each of the lines, counted no further than `most` says for their tenants. */
export async function countWaiting(
  pool: Pool,
  poolId: number,
  lines: readonly Line[],
  most: ReadonlyMap<Uuid, number>,
): Promise<Map<Line, number>> {
  const rows = await runNamed<[number, number]>(
    pool,
    'count_waiting',
    `select u.o::int, (select count(*)::int from (
       select from ready w where u.l is null and w.pool = $1::smallint and w.tenant_id = u.t and w.queue_id = u.q
       union all select from ready w where u.l is not null and w.tenant_id = u.t and w.lane = u.l and w.pool = $1::smallint + 1000
       limit u.m) x)
     from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::int[]) with ordinality u(t, q, l, m, o)`,
    [
      poolId,
      arrayLiteral(lines.map(({ tenantId }) => tenantId)),
      arrayLiteral(lines.map(({ queueId }) => queueId)),
      arrayLiteral(lines.map(({ laneId }) => laneId)),
      arrayLiteral(lines.map(({ tenantId }) => most.get(tenantId) ?? 0)),
    ],
  )
  return new Map(
    rows.flatMap(([ordinal, count]) => {
      const line = lines[ordinal - 1]
      return line === undefined ? [] : [[line, count] as const]
    }),
  )
}
