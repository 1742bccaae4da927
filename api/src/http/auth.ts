import { findApiKey, type KeyIdentity, touchApiKeys } from '@meridian/core/access/keys'
import { roleScopes } from '@meridian/core/access/scope'
import { findSession, listMemberships, type Membership, type Session } from '@meridian/core/access/sessions'
import { hashToken, isToken } from '@meridian/core/access/token'
import type { Pool } from '@meridian/core/db/client'
import type { Actor, Ctx } from '@meridian/core/db/context'
import type { Clock } from '@meridian/core/kernel/clock'
import { AppError, notFound } from '@meridian/core/kernel/errors'
import { fromWireId, toWireId, type Uuid } from '@meridian/core/kernel/ids'
import type { Log } from '@meridian/core/kernel/log'
import { LRUCache } from 'lru-cache'
import type { Services } from './env.ts'

interface Credential {
  readonly token: string
  readonly actor: Actor
  /** What its requests are counted under. */
  readonly limitKey: string
  /** The context of one request. A session enters the project that the header names. */
  enter(
    services: Pick<Services, 'pool' | 'keyRing' | 'clock'>,
    projectHeader: string | undefined,
    requestId: string,
  ): Ctx
  requiresIdempotencyKey(projectId: Uuid | undefined): boolean
}

/** Who asks. */
export type Caller = Credential &
  (
    | { readonly kind: 'key'; readonly key: KeyIdentity }
    | { readonly kind: 'session'; readonly session: Session; readonly memberships: readonly Membership[] }
  )

export interface Authenticator {
  /** Throws `unauthenticated`. A revoked or closed credential is refused within two seconds, in every process. */
  authenticate(authorization: string | undefined): Promise<Caller> | Caller
  /** Forgets a credential that was ended here. */
  forget(token: string): void
  /** Notes which keys were used since the last time. */
  close(): Promise<void>
}

const cacheMs = 2_000
const touchEveryMs = 10_000

const unauthenticated = (detail: string): AppError => new AppError('unauthenticated', detail)

export function createAuthenticator({ pool, clock, log }: { pool: Pool; clock: Clock; log: Log }): Authenticator {
  const callers = new LRUCache<string, Caller>({ max: 20_000, ttl: cacheMs })
  const lookUps = new Map<string, Promise<Caller>>()
  let used = new Set<string>()

  const touch = async (): Promise<void> => {
    if (used.size === 0) return
    const tokens = [...used]
    used = new Set()
    try {
      await touchApiKeys(pool, tokens.map(hashToken))
    } catch (error) {
      log.warn({ err: error }, 'could not note which API keys were used')
    }
  }
  const timer = setInterval(() => void touch(), touchEveryMs)
  timer.unref()

  const lookUp = async (token: string): Promise<Caller> => {
    const caller = isToken('mk', token) ? await lookUpKey(pool, clock, token) : await lookUpSession(pool, token)
    callers.set(token, caller)
    if (caller.kind === 'key') used.add(token)
    return caller
  }

  return {
    authenticate(authorization) {
      const token = bearerToken(authorization)
      const known = callers.get(token)
      if (known !== undefined) return known
      // Many requests with one credential ask once.
      const running = lookUps.get(token)
      if (running !== undefined) return running
      const looking = lookUp(token).finally(() => lookUps.delete(token))
      lookUps.set(token, looking)
      return looking
    },
    forget: (token) => void callers.delete(token),
    async close() {
      clearInterval(timer)
      await touch()
    },
  }
}

/** The secret of an `Authorization: Bearer` header. Throws `unauthenticated` for anything that can't be one. */
function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) throw unauthenticated('Send an API key in the header: Authorization: Bearer mk_…')
  const token = /^bearer +(\S+)$/i.exec(authorization)?.[1]
  if (token === undefined || !(isToken('mk', token) || isToken('ms', token))) {
    throw unauthenticated('The Authorization header holds no API key and no session token of ours.')
  }
  return token
}

async function lookUpKey(pool: Pool, clock: Clock, token: string): Promise<Caller> {
  const key = await findApiKey(pool, token)
  const { tenantId, projectId, scopes, expiresAt } = key
  const actor: Actor = { type: 'key', id: key.id }
  return {
    kind: 'key',
    token,
    actor,
    limitKey: key.id,
    key,
    enter(services, projectHeader, requestId) {
      if (expiresAt !== null && expiresAt.getTime() <= clock.nowMs()) throw unauthenticated('This API key has expired.')
      if (projectHeader !== undefined && projectHeader !== toWireId('prj', projectId)) throw notFound('project')
      return {
        pool: services.pool,
        keyRing: services.keyRing,
        clock: services.clock,
        tenantId,
        projectId,
        actor,
        scopes,
        requestId,
      }
    },
    requiresIdempotencyKey: () => key.requiresIdempotencyKey,
  }
}

async function lookUpSession(pool: Pool, token: string): Promise<Caller> {
  const session = await findSession(pool, token)
  const memberships = await listMemberships(pool, session.userId)
  const byProject = new Map(memberships.map((membership) => [membership.projectId, membership]))
  const actor: Actor = { type: 'user', id: session.userId }
  return {
    kind: 'session',
    token,
    actor,
    limitKey: session.id,
    session,
    memberships,
    enter(services, projectHeader, requestId) {
      if (projectHeader === undefined)
        throw new AppError('malformed-request', 'Name a project in the header Meridian-Project.')
      const membership = byProject.get(fromWireId('prj', projectHeader) ?? '')
      if (membership === undefined) throw notFound('project')
      const { tenantId, projectId, role } = membership
      return {
        pool: services.pool,
        keyRing: services.keyRing,
        clock: services.clock,
        tenantId,
        projectId,
        actor,
        scopes: roleScopes[role],
        requestId,
      }
    },
    requiresIdempotencyKey: (projectId) => byProject.get(projectId ?? '')?.requiresIdempotencyKey ?? false,
  }
}
