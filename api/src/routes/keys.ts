import { withIdempotency } from '@meridian/core/access/idempotency'
import { createApiKey, getApiKey, keyNameValue, listApiKeys, revokeApiKey } from '@meridian/core/access/keys'
import { z } from 'zod'
import { needs, operation, Reply } from '../http/operation.ts'
import { apiKeyToWire, apiKeyWire, createdApiKeyWire } from '../wire/access.ts'
import { scope } from '../wire/components.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { instantInput, pathId } from '../wire/values.ts'

const keyParams = z.object({ keyId: pathId('key') })

const create = operation({
  id: 'createApiKey',
  method: 'post',
  path: '/v1/keys',
  tag: 'API keys',
  summary: 'Create an API key',
  description: 'For this project, with no more than your own scopes. The secret is in this answer and nowhere else.',
  access: needs('keys:write'),
  body: z
    .strictObject({
      name: keyNameValue,
      scopes: z.array(scope).min(1).max(50),
      expiresAt: instantInput.nullable().default(null),
    })
    .meta({ id: 'NewApiKey' }),
  example: { name: 'deploy script', scopes: ['jobs:read', 'jobs:write'] },
  isCreate: true,
  answer: { status: 201, description: 'The key, with its secret.', schema: createdApiKeyWire },
  async handle({ ctx, body, idempotency }) {
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const { key, secret } = await createApiKey(tx, body)
      return { subject: key.id, answer: { ...apiKeyToWire(key), secret } }
    })
    return new Reply(answer, replayed ? { headers: { 'idempotency-replayed': 'true' } } : {})
  },
})

const list = operation({
  id: 'listApiKeys',
  method: 'get',
  path: '/v1/keys',
  tag: 'API keys',
  summary: 'List the API keys of the project, newest first',
  access: needs('keys:read'),
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of keys, revoked and expired ones too.', schema: pageOf(apiKeyWire) },
  handle: async ({ ctx, query }) => toPage(await listApiKeys(ctx, toPageRequest(query)), apiKeyToWire),
})

const get = operation({
  id: 'getApiKey',
  method: 'get',
  path: '/v1/keys/{keyId}',
  tag: 'API keys',
  summary: 'Get an API key',
  access: needs('keys:read'),
  params: keyParams,
  answer: { status: 200, description: 'The key.', schema: apiKeyWire },
  handle: async ({ ctx, params }) => apiKeyToWire(await getApiKey(ctx, params.keyId)),
})

const revoke = operation({
  id: 'revokeApiKey',
  method: 'delete',
  path: '/v1/keys/{keyId}',
  tag: 'API keys',
  summary: 'Revoke an API key',
  description: 'For good. It is refused everywhere within seconds.',
  access: needs('keys:write'),
  params: keyParams,
  answer: { status: 200, description: 'The key, revoked.', schema: apiKeyWire },
  handle: async ({ ctx, params }) => apiKeyToWire(await revokeApiKey(ctx, params.keyId)),
})

export const keyOperations = [create, list, get, revoke]
