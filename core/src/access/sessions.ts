import { type Pool, runNamed, toAppError } from '../db/client.ts'
import { systemClock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import type { Role } from './scope.ts'
import { hashToken, isToken, newToken } from './token.ts'

const absoluteHours = 12
const idleMinutes = 30

/** A person as the identity provider vouches for them. */
export interface Identity {
  issuer: string
  subject: string
  email: string
  emailVerified: boolean
}

export interface OpenedSession {
  /** Shown once; only its hash is kept. */
  token: string
  userId: Uuid
  email: string
  name: string
  /** When it ends, however busy it is. */
  expiresAt: Date
}

export interface Session {
  id: Uuid
  userId: Uuid
  email: string
  name: string
  expiresAt: Date
}

/** A project that a person may enter, and as what. */
export interface Membership {
  tenantId: Uuid
  tenantSlug: string
  tenantName: string
  role: Role
  projectId: Uuid
  projectSlug: string
  projectName: string
  label: 'production' | 'staging' | 'development'
  requiresIdempotencyKey: boolean
}

/** These functions run before there is a tenant, so none of them has a context or a transaction of a verb. */
async function call<Row extends unknown[]>(pool: Pool, name: string, text: string, values: unknown[]): Promise<Row[]> {
  try {
    return await runNamed<Row>(pool, name, text, values)
  } catch (error) {
    throw toAppError(error)
  }
}

/**
 * Signs a person in: one whose identity is known, or who was invited under the verified address they come with. Throws
 * `forbidden` for everybody else. The session ends after 12 hours, or 30 minutes unused.
 */
export async function openSession(pool: Pool, identity: Identity): Promise<OpenedSession> {
  const { issuer, subject, email, emailVerified } = identity
  const token = newToken('ms')
  const rows = await call<[Uuid, string, string, Date]>(
    pool,
    'open_session',
    'select user_id, email, name, expires_at from open_session($1, $2, $3, $4, $5, $6, $7)',
    [issuer, subject, email, emailVerified, uuidv7(systemClock.nowMs()), hashToken(token), absoluteHours],
  )
  if (rows[0] === undefined)
    throw new AppError('forbidden', 'Nobody has invited you yet. Ask an owner of your organisation.')
  const [userId, knownEmail, name, expiresAt] = rows[0]
  return { token, userId, email: knownEmail, name, expiresAt }
}

/** The person behind a session token, which counts as a use of it. Throws `unauthenticated` when it has ended. */
export async function findSession(pool: Pool, token: string): Promise<Session> {
  const rows = isToken('ms', token)
    ? await call<[Uuid, Uuid, string, string, Date]>(
        pool,
        'find_session',
        'select session_id, user_id, email, name, expires_at from find_session($1, $2)',
        [hashToken(token), idleMinutes],
      )
    : []
  if (rows[0] === undefined) throw new AppError('unauthenticated', 'The session has ended. Sign in again.')
  const [id, userId, email, name, expiresAt] = rows[0]
  return { id, userId, email, name, expiresAt }
}

/** Ends a session. Ending one that has ended, or never was, changes nothing. */
export async function closeSession(pool: Pool, token: string): Promise<void> {
  await call(pool, 'close_session', 'select close_session($1)', [hashToken(token)])
}

/** Every project that a person may enter, by tenant and name. */
export async function listMemberships(pool: Pool, userId: Uuid): Promise<Membership[]> {
  const rows = await call<[Uuid, string, string, Role, Uuid, string, string, Membership['label'], boolean]>(
    pool,
    'list_memberships',
    `select tenant_id, tenant_slug, tenant_name, role, project_id, project_slug, project_name, label, requires_idempotency_key
     from list_memberships($1)`,
    [userId],
  )
  return rows.map(
    ([tenantId, tenantSlug, tenantName, role, projectId, projectSlug, projectName, label, requiresIdempotencyKey]) => ({
      tenantId,
      tenantSlug,
      tenantName,
      role,
      projectId,
      projectSlug,
      projectName,
      label,
      requiresIdempotencyKey,
    }),
  )
}
