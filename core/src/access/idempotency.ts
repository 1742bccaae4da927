import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { AppError } from '../kernel/errors.ts'
import { nilUuid, type Uuid } from '../kernel/ids.ts'

/** The key a create was sent with, and the SHA-256 of what it asks for. */
export interface IdempotentRequest {
  key: string
  fingerprint: Buffer
}

/** What a create made: the thing's id, and its answer as it goes on the wire (JSON). */
export interface Made<Answer> {
  subject: Uuid
  answer: Answer
}

type KeyRow = [Uuid, Buffer, Buffer | null]

/**
 * Does the work of a create once per key, in one transaction with it; runs have a way of their own. A second request
 * with the key waits for the first to end, then gets the very answer of the first; when the first failed, the work is
 * done. Answers are kept encrypted, they may hold a secret. Without a key the work is simply done.
 * Throws `idempotency-mismatch` when the key was used for another request.
 */
export async function withIdempotency<Answer>(
  ctx: Ctx,
  request: IdempotentRequest | null,
  work: (tx: Tx) => Promise<Made<Answer>>,
): Promise<{ answer: Answer; replayed: boolean }> {
  if (request === null) return { answer: (await withTx(ctx, work)).answer, replayed: false }
  await ctx.keyRing.load(ctx.tenantId)
  return withTx(ctx, async (tx) => {
    const owner = [tx.tenantId, tx.projectId, request.key]
    // A row of somebody still at work makes this statement wait for the end of their transaction.
    const taken = await runNamed(
      tx.client,
      'take_idempotency_key',
      `insert into idempotency_keys (tenant_id, project_id, key, fingerprint, subject) values ($1, $2, $3, $4, $5)
       on conflict do nothing returning 1`,
      [...owner, request.fingerprint, nilUuid],
    )
    if (taken.length === 0) return { answer: await firstAnswer<Answer>(tx, request), replayed: true }
    const { subject, answer } = await work(tx)
    const sealed = await tx.keyRing.seal(tx.tenantId, subject, Buffer.from(JSON.stringify(answer)))
    await runNamed(
      tx.client,
      'fill_idempotency_key',
      'update idempotency_keys set subject = $4, response = $5 where tenant_id = $1 and project_id = $2 and key = $3',
      [...owner, subject, sealed],
    )
    return { answer, replayed: false }
  })
}

async function firstAnswer<Answer>(tx: Tx, request: IdempotentRequest): Promise<Answer> {
  const rows = await runNamed<KeyRow>(
    tx.client,
    'idempotency_key',
    'select subject, fingerprint, response from idempotency_keys where tenant_id = $1 and project_id = $2 and key = $3',
    [tx.tenantId, tx.projectId, request.key],
  )
  const [subject, fingerprint, response] = rows[0] ?? [nilUuid, null, null]
  // A run's key has no answer of its own, and another print: method and path are part of it.
  if (fingerprint === null || response === null || !fingerprint.equals(request.fingerprint)) {
    throw new AppError('idempotency-mismatch', 'This idempotency key was used for another request.')
  }
  return JSON.parse((await tx.keyRing.open(tx.tenantId, subject, response)).toString()) as Answer
}
