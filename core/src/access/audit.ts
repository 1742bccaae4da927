import type { ClientBase } from 'pg'
import type { Actor, Tx } from '../db/context.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'

/** `key:<uuid>`, `user:<uuid>` or `system`: how an actor is written down. */
export const actorText = (actor: Actor): string => (actor.type === 'system' ? 'system' : `${actor.type}:${actor.id}`)

/** The same, read back. */
export function actorOf(text: string): Actor {
  const [type, id] = text.split(':')
  return (type === 'key' || type === 'user') && id !== undefined ? { type, id } : { type: 'system' }
}

/**
 * Writes the verb's audit line in the verb's own transaction. It carries ids and names, never payloads; the sealer
 * chains it later.
 */
export async function audit(
  tx: Pick<Tx, 'tenantId' | 'projectId' | 'actor' | 'clock' | 'requestId'> & { client: Pick<ClientBase, 'query'> },
  action: string,
  line: { subject?: Uuid; data?: Record<string, unknown> },
): Promise<void> {
  await tx.client.query(
    `insert into audit_entries (tenant_id, id, project_id, actor, action, subject, data, request_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      tx.tenantId,
      uuidv7(tx.clock.nowMs()),
      tx.projectId,
      actorText(tx.actor),
      action,
      line.subject ?? null,
      line.data ?? null,
      tx.requestId,
    ],
  )
}
