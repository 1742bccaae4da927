import { closeSession, openSession } from '@meridian/core/access/sessions'
import { AppError } from '@meridian/core/kernel/errors'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { anybody, operation, signedIn } from '../http/operation.ts'
import { membershipToWire, membershipWire } from '../wire/access.ts'
import { scope } from '../wire/components.ts'
import { instant, toInstant, toInstantOrNull, wireId } from '../wire/values.ts'

const userWire = z.strictObject({ id: wireId('usr'), email: z.string(), name: z.string() }).meta({ id: 'User' })

const open = operation({
  id: 'openSession',
  method: 'post',
  path: '/v1/sessions',
  tag: 'Sessions',
  summary: 'Sign a person in',
  description:
    'Exchanges an ID token of the configured identity provider for a session token: 12 hours at most, 30 minutes unused. Send it as `Authorization: Bearer ms_…` with the header `Meridian-Project`.',
  access: anybody,
  body: z.strictObject({ idToken: z.string().min(1).max(16_384) }).meta({ id: 'NewSession' }),
  example: { idToken: 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl' },
  answer: {
    status: 201,
    description: 'The session. Its token is shown once.',
    schema: z.strictObject({ token: z.string(), expiresAt: instant, user: userWire }).meta({ id: 'OpenedSession' }),
  },
  problems: ['unauthenticated', 'forbidden'],
  async handle({ body, services }) {
    if (services.idTokens === null)
      throw new AppError('forbidden', 'No identity provider is configured: nobody can sign in.')
    const identity = await services.idTokens.verify(body.idToken)
    const { token, expiresAt, userId, email, name } = await openSession(services.pool, identity)
    return { token, expiresAt: toInstant(expiresAt), user: { id: toWireId('usr', userId), email, name } }
  },
})

const close = operation({
  id: 'closeSession',
  method: 'delete',
  path: '/v1/sessions/current',
  tag: 'Sessions',
  summary: 'Sign out',
  access: signedIn,
  answer: { status: 204, description: 'The session has ended.' },
  async handle({ caller, services }) {
    if (caller.kind !== 'session') throw new AppError('forbidden', 'An API key is no session. Revoke it instead.')
    await closeSession(services.pool, caller.token)
    services.authenticator.forget(caller.token)
  },
})

const me = operation({
  id: 'getMe',
  method: 'get',
  path: '/v1/me',
  tag: 'Sessions',
  summary: 'See who you are and where you may go',
  access: signedIn,
  answer: {
    status: 200,
    description: 'The person of a session with their projects, or the key.',
    schema: z
      .discriminatedUnion('kind', [
        z.strictObject({
          kind: z.literal('session'),
          user: userWire,
          expiresAt: instant,
          memberships: z.array(membershipWire),
        }),
        z.strictObject({
          kind: z.literal('key'),
          id: wireId('key'),
          tenantId: wireId('ten'),
          projectId: wireId('prj'),
          scopes: z.array(scope),
          expiresAt: instant.nullable(),
        }),
      ])
      .meta({ id: 'Me' }),
  },
  async handle({ caller }) {
    if (caller.kind === 'key') {
      const { key } = caller
      return {
        kind: 'key' as const,
        id: toWireId('key', key.id),
        tenantId: toWireId('ten', key.tenantId),
        projectId: toWireId('prj', key.projectId),
        scopes: [...key.scopes],
        expiresAt: toInstantOrNull(key.expiresAt),
      }
    }
    const { session, memberships } = caller
    return {
      kind: 'session' as const,
      user: { id: toWireId('usr', session.userId), email: session.email, name: session.name },
      expiresAt: toInstant(session.expiresAt),
      memberships: memberships.map(membershipToWire),
    }
  },
})

export const sessionOperations = [open, close, me]
