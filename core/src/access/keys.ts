import { and, desc, eq, lt, sql } from 'drizzle-orm'
import { type Pool, runNamed, toAppError } from '../db/client.ts'
import { type Ctx, withRead, withTx } from '../db/context.ts'
import { apiKeys } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { AppError, notFound, validationFailed } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { lineValue } from '../kernel/text.ts'
import { actorText, audit } from './audit.ts'
import { requireScope, type Scope, scopes } from './scope.ts'
import { hashToken, isToken, newToken, tokenHint } from './token.ts'

/** A key of a project, without its secret, which nobody can read again. */
export interface ApiKey {
  id: Uuid
  projectId: Uuid
  name: string
  /** The last characters of the secret. */
  hint: string
  scopes: Scope[]
  /** As the audit trail writes actors. */
  createdBy: string
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  /** To the minute or so. */
  lastUsedAt: Date | null
}

/** Whom a secret belongs to, and what it may do. */
export interface KeyIdentity {
  tenantId: Uuid
  projectId: Uuid
  id: Uuid
  scopes: ReadonlySet<Scope>
  expiresAt: Date | null
  requiresIdempotencyKey: boolean
}

export const keyNameValue = lineValue(100)

const isScope = (text: string): text is Scope => (scopes as readonly string[]).includes(text)

const keyColumns = {
  id: apiKeys.id,
  projectId: apiKeys.projectId,
  name: apiKeys.name,
  hint: apiKeys.hint,
  scopes: apiKeys.scopes,
  createdBy: apiKeys.createdBy,
  createdAt: apiKeys.createdAt,
  expiresAt: apiKeys.expiresAt,
  revokedAt: apiKeys.revokedAt,
  lastUsedAt: apiKeys.lastUsedAt,
}

// A scope that an older release knew, and this one does not, gives nothing.
const toKey = (row: Omit<ApiKey, 'scopes'> & { scopes: string[] }): ApiKey => ({
  ...row,
  scopes: row.scopes.filter(isScope),
})

const ownKey = (ctx: Ctx, id: Uuid) =>
  and(eq(apiKeys.tenantId, ctx.tenantId), eq(apiKeys.projectId, ctx.projectId), eq(apiKeys.id, id))

/**
 * Makes a key for the caller's project. The secret is in this answer and nowhere else. Throws `forbidden` when it
 * would hold a scope that the caller does not.
 */
export async function createApiKey(
  ctx: Ctx,
  input: { name: string; scopes: readonly Scope[]; expiresAt?: Date | null | undefined },
): Promise<{ key: ApiKey; secret: string }> {
  requireScope(ctx, 'keys:write')
  const beyond = input.scopes.filter((scope) => !ctx.scopes.has(scope))
  if (beyond.length > 0) throw new AppError('forbidden', `A key can't hold more than its maker: ${beyond.join(', ')}.`)
  const { name, expiresAt = null } = input
  if (expiresAt !== null && expiresAt.getTime() <= ctx.clock.nowMs()) {
    throw validationFailed([{ pointer: '/expiresAt', detail: 'must be in the future' }])
  }
  const secret = newToken('mk')
  const granted = scopes.filter((scope) => input.scopes.includes(scope))
  const key = await withTx(ctx, async (tx) => {
    const [row] = await tx.db
      .insert(apiKeys)
      .values({
        tenantId: tx.tenantId,
        id: uuidv7(tx.clock.nowMs()),
        projectId: tx.projectId,
        name,
        hash: hashToken(secret),
        hint: tokenHint(secret),
        scopes: granted,
        createdBy: actorText(tx.actor),
        expiresAt,
      })
      .returning(keyColumns)
    if (row === undefined) throw new Error('an insert returned nothing')
    await append(tx, { type: 'key.created', subject: row.id, data: { name } })
    await audit(tx, 'key.create', { subject: row.id, data: { name, scopes: granted, expiresAt } })
    return toKey(row)
  })
  return { key, secret }
}

/** The project's keys, newest first, revoked and expired ones too. */
export async function listApiKeys(ctx: Ctx, page: PageRequest): Promise<Page<ApiKey>> {
  requireScope(ctx, 'keys:read')
  const rows = await withRead(ctx, (tx) =>
    tx.db
      .select(keyColumns)
      .from(apiKeys)
      .where(
        and(
          eq(apiKeys.tenantId, tx.tenantId),
          eq(apiKeys.projectId, tx.projectId),
          page.cursor === undefined ? undefined : lt(apiKeys.id, decodeCursor(page.cursor)),
        ),
      )
      .orderBy(desc(apiKeys.id))
      .limit(page.limit + 1),
  )
  return toPage(rows.map(toKey), page.limit)
}

/** One key of the project. Throws `not-found`. */
export async function getApiKey(ctx: Ctx, id: Uuid): Promise<ApiKey> {
  requireScope(ctx, 'keys:read')
  const [row] = await withRead(ctx, (tx) => tx.db.select(keyColumns).from(apiKeys).where(ownKey(tx, id)))
  if (row === undefined) throw notFound('API key')
  return toKey(row)
}

/** Ends a key at once and for good. Revoking it again changes nothing. */
export async function revokeApiKey(ctx: Ctx, id: Uuid): Promise<ApiKey> {
  requireScope(ctx, 'keys:write')
  return withTx(ctx, async (tx) => {
    const [before] = await tx.db.select(keyColumns).from(apiKeys).where(ownKey(tx, id)).for('update')
    if (before === undefined) throw notFound('API key')
    if (before.revokedAt !== null) return toKey(before)
    const [after = before] = await tx.db
      .update(apiKeys)
      .set({ revokedAt: sql`now()` })
      .where(ownKey(tx, id))
      .returning(keyColumns)
    await append(tx, { type: 'key.revoked', subject: id, data: { name: after.name } })
    await audit(tx, 'key.revoke', { subject: id, data: { name: after.name } })
    return toKey(after)
  })
}

type IdentityRow = [Uuid, Uuid, Uuid, string[], Date | null, boolean, boolean, boolean]

/**
 * Whom a secret belongs to. Throws `unauthenticated`: it is no key, or it has expired, or it was revoked (which it
 * says, since only its holder can ask).
 */
export async function findApiKey(pool: Pool, secret: string): Promise<KeyIdentity> {
  const [row] = isToken('mk', secret) ? await identify(pool, hashToken(secret)) : []
  if (row === undefined) throw new AppError('unauthenticated', 'This API key is not one of ours.')
  const [tenantId, id, projectId, held, expiresAt, isExpired, isRevoked, requiresIdempotencyKey] = row
  if (isRevoked) throw new AppError('unauthenticated', 'This API key was revoked.')
  if (isExpired) throw new AppError('unauthenticated', 'This API key has expired.')
  return { tenantId, projectId, id, scopes: new Set(held.filter(isScope)), expiresAt, requiresIdempotencyKey }
}

async function identify(pool: Pool, hash: Buffer): Promise<IdentityRow[]> {
  try {
    return await runNamed<IdentityRow>(
      pool,
      'find_api_key',
      `select tenant_id, id, project_id, scopes, expires_at, coalesce(expires_at <= now(), false), revoked_at is not null,
         requires_idempotency_key
       from find_api_key($1)`,
      [hash],
    )
  } catch (error) {
    throw toAppError(error)
  }
}

/** Notes that keys were used just now. Meant to be called now and then for many, not once a request. */
export async function touchApiKeys(pool: Pool, hashes: readonly Buffer[]): Promise<void> {
  try {
    await runNamed(pool, 'touch_api_keys', 'select touch_api_keys($1::bytea[])', [hashes])
  } catch (error) {
    throw toAppError(error)
  }
}
