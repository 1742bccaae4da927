import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeRequest, encodeRequest, type RunRequest } from './request-codec.ts'
import { defaultRetryPolicy } from './retry-policy.ts'

const request = fc.record<RunRequest>(
  {
    method: fc.constantFrom('GET', 'POST'),
    url: fc.webUrl(),
    headers: fc.dictionary(fc.string({ minLength: 1 }), fc.string({ unit: 'binary' }), { noNullPrototype: true }),
    timeoutMs: fc.nat(),
    retry: fc.constant(defaultRetryPolicy),
    startWithinMs: fc.nat(),
    endWithinMs: fc.nat(),
  },
  { requiredKeys: ['method', 'url', 'headers', 'timeoutMs', 'retry'] },
)
const body = fc.option(fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes)))

it('what is encoded is decoded, each with its own body, however alike the rest is', () => {
  fc.assert(
    fc.property(request, fc.array(body), (asked, bodies) => {
      const decoded = bodies.map((each) => decodeRequest(encodeRequest(asked, each)))
      const kept = JSON.parse(JSON.stringify(asked)) as RunRequest
      expect(decoded).toEqual(bodies.map((each) => ({ ...kept, body: each })))
    }),
  )
})
