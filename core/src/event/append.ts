import type { Tx } from '../db/context.ts'
import type { NewEvent } from './event.ts'

/** Tells a fact in the transaction that makes it true. */
export async function append(tx: Tx, event: NewEvent): Promise<void> {
  await tx.client.query(
    'insert into events (tenant_id, project_id, type, subject, job_id, data) values ($1, $2, $3, $4, $5, $6)',
    [tx.tenantId, tx.projectId, event.type, event.subject, event.jobId ?? null, event.data ?? null],
  )
}
