import { LRUCache } from 'lru-cache'
import { arrayLiteral, type Pool, type PoolClient, runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'

/**
 * Where everything of a project with a test clock waits: no dispatcher serves this pool and no scheduler looks at this
 * shard. Queues and schedules of such a project carry them, so that nobody else has to ask.
 */
export const virtualPool = 0
export const virtualShard = 0

/** Whose project it is. */
interface Place {
  tenantId: Uuid
  projectId: Uuid
}

// A project is marked when it is made, for good: what is known stays true.
const marks = new LRUCache<Uuid, boolean>({ max: 50_000 })

/** Which of the projects have a test clock: asked once a project and process. */
export async function findVirtual(client: Pool | PoolClient, places: readonly Place[]): Promise<Set<Uuid>> {
  const unknown = places.filter(({ projectId }) => !marks.has(projectId))
  if (unknown.length > 0) {
    const rows = await runNamed<[Uuid, boolean]>(
      client,
      'test_clock_marks',
      `select p.id, p.has_test_clock from unnest($1::uuid[], $2::uuid[]) u(t, p)
       join projects p on p.tenant_id = u.t and p.id = u.p`,
      [arrayLiteral(unknown.map(({ tenantId }) => tenantId)), arrayLiteral(unknown.map(({ projectId }) => projectId))],
    )
    for (const [id, isMarked] of rows) marks.set(id, isMarked)
  }
  return new Set(places.flatMap(({ projectId }) => (marks.get(projectId) === true ? [projectId] : [])))
}

/** What the clock of the caller's project says, epoch milliseconds. Throws `conflict` when it has none (any more). */
export async function testClockNowMs(tx: Tx): Promise<number> {
  const rows = await runNamed<[number]>(
    tx.client,
    'test_clock_now',
    `select round(extract(epoch from now_at)::float8 * 1000) from test_clocks where tenant_id = $1 and project_id = $2`,
    [tx.tenantId, tx.projectId],
  )
  if (rows[0] !== undefined) return rows[0][0]
  throw new AppError('conflict', 'The project is made for a test clock and has none: make one first.')
}

/** What time it is for each of a tenant's jobs, as SQL: rows of `id` and `now_at`. Its values are SQL, too. */
export const nowOfJobs = (tenant: string, ids: string): string =>
  `select j.id, coalesce((select c.now_at from test_clocks c where c.tenant_id = j.tenant_id and c.project_id = j.project_id), now()) as now_at
   from jobs j where j.tenant_id = ${tenant} and j.id = any(${ids})`
