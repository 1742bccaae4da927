import { virtualPool } from '../clock/virtual.ts'
import { arrayLiteral, type PoolClient, runNamed } from '../db/client.ts'
import type { Written } from './write-occurrences.ts'

/**
 * Writes down until when runs of schedules have to have begun and ended; nothing where none has a deadline. What waits
 * for a test clock has its deadlines by that clock: its executor minds them.
 */
export async function writeDeadlines(client: PoolClient, written: readonly Written[]): Promise<void> {
  const own = written.filter(
    ({ schedule: { pool, startWithinMs, endWithinMs }, runId }) =>
      runId !== null && pool !== virtualPool && (startWithinMs !== null || endWithinMs !== null),
  )
  if (own.length === 0) return
  await runNamed(
    client,
    'write_deadlines',
    `insert into run_deadlines (tenant_id, run_id, project_id, pool, queue_id, start_by, end_by, check_at)
     select t, i, p, pool, q, to_timestamp((d + s) / 1000), to_timestamp((d + e) / 1000), to_timestamp((d + least(s, e)) / 1000)
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::smallint[], $5::uuid[], $6::float8[], $7::float8[], $8::float8[])
       x(t, i, p, pool, q, d, s, e)
     where exists (select from due where due.tenant_id = t and due.id = i)`,
    [
      arrayLiteral(own.map(({ schedule }) => schedule.tenantId)),
      arrayLiteral(own.map(({ runId }) => runId)),
      arrayLiteral(own.map(({ schedule }) => schedule.projectId)),
      arrayLiteral(own.map(({ schedule }) => schedule.pool)),
      arrayLiteral(own.map(({ schedule }) => schedule.queueId)),
      arrayLiteral(own.map(({ dueAtMs }) => dueAtMs)),
      arrayLiteral(own.map(({ schedule }) => schedule.startWithinMs)),
      arrayLiteral(own.map(({ schedule }) => schedule.endWithinMs)),
    ],
  )
}
