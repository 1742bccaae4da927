import { issueCertificate } from '@meridian/core/certificate/issue'
import { z } from 'zod'
import { anybody, needs, operation, Reply } from '../http/operation.ts'
import { certificateWire } from '../wire/certificate.ts'
import { instantInput, pathId } from '../wire/values.ts'

const issue = operation({
  id: 'getCertificate',
  method: 'get',
  path: '/v1/jobs/{jobId}/certificate',
  tag: 'Jobs',
  summary: 'Prove that every instant of a schedule is accounted for',
  description:
    'Computes the instants again, from what the schedule was at any time and with the time zone data of then, and holds the ledger against them. Of the last 30 days, unless `from` and `to` say otherwise; at most 366 days and a million instants. A mismatch is told as an event.',
  access: needs('jobs:read'),
  params: z.object({ jobId: pathId('job') }),
  query: z.strictObject({
    from: instantInput.optional(),
    to: instantInput.optional().meta({ description: 'Exclusive; five seconds ago at the latest.' }),
  }),
  answer: {
    status: 200,
    description: 'The certificate, and the same signed.',
    schema: z
      .strictObject({
        certificate: certificateWire,
        jws: z.string().meta({ description: 'The same as a JWS, signed with a key of `/.well-known/jwks.json`.' }),
      })
      .meta({ id: 'SignedCertificate' }),
  },
  problems: ['conflict', 'dependency-unavailable'],
  handle: async ({ ctx, params, query, services }) =>
    issueCertificate(ctx, { key: services.installationKey, zonesOf: services.zonesOf }, { ...params, ...query }),
})

const keys = operation({
  id: 'getSigningKeys',
  method: 'get',
  path: '/.well-known/jwks.json',
  tag: 'System',
  summary: 'Get the public keys that this installation signs with',
  access: anybody,
  answer: {
    status: 200,
    description: 'A key set of RFC 7517.',
    schema: z
      .strictObject({
        keys: z.array(
          z.strictObject({
            kty: z.literal('OKP'),
            crv: z.literal('Ed25519'),
            x: z.string(),
            kid: z.string(),
            alg: z.literal('EdDSA'),
            use: z.literal('sig'),
          }),
        ),
      })
      .meta({ id: 'SigningKeys' }),
  },
  handle: async ({ services: { installationKey } }) =>
    new Reply(
      { keys: installationKey === null ? [] : [installationKey.publicJwk] },
      { headers: { 'cache-control': 'public, max-age=3600' } },
    ),
})

export const certificateOperations = [issue, keys]
