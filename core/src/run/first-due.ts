import { type Pool, runNamed } from '../db/client.ts'
import { uuidTimeMs } from '../kernel/ids.ts'
import type { Claimed } from './claim.ts'
import { clockSlack } from './select.ts'

/**
 * When a claimed run was due at first, epoch milliseconds by the database's clock: a retry has a due instant of its
 * own. For what counts from there; it asks the database only after a first try.
 */
export async function firstDueMs(pool: Pool, { tenantId, id, attempt, dueAtMs }: Claimed): Promise<number> {
  if (attempt <= 1) return dueAtMs
  const rows = await runNamed<[number | null]>(
    pool,
    'first_due',
    `select round(extract(epoch from min(due_at))::float8 * 1000) from attempts
     where tenant_id = $1 and run_id = $2 and ended_at >= to_timestamp($3::float8 / 1000) - ${clockSlack}`,
    [tenantId, id, uuidTimeMs(id)],
  )
  return rows[0]?.[0] ?? dueAtMs
}
