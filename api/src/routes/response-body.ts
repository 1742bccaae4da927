import { getRunResponseBody } from '@meridian/core/run/get'
import { z } from 'zod'
import { alreadyAnswered, needs, operation } from '../http/operation.ts'
import { pathId, wholeNumber } from '../wire/values.ts'

const body = operation({
  id: 'getRunResponseBody',
  method: 'get',
  path: '/v1/runs/{runId}/response/body',
  tag: 'Runs',
  summary: 'Download the body of what the target answered',
  description:
    'All that is kept of it, also where the response itself shows only the beginning. `meridian-content-type` says what the target called it; it is always sent as a download.',
  access: needs('payloads:read'),
  params: z.object({ runId: pathId('run') }),
  query: z.strictObject({ attempt: wholeNumber(1, 32_767).optional() }),
  answer: {
    status: 200,
    description: 'The bytes.',
    schema: z.string().meta({ format: 'binary' }),
    mediaType: 'application/octet-stream',
  },
  async handle({ ctx, params, query, services, outgoing, responseHeaders }) {
    const kept = await getRunResponseBody(ctx, services.bodyStore, params.runId, query.attempt)
    // A target's HTML must never run under our origin.
    outgoing.writeHead(200, {
      ...responseHeaders,
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="response"',
      'content-length': String(kept.body.length),
      'meridian-content-type': kept.contentType,
    })
    outgoing.end(kept.body)
    return alreadyAnswered
  },
})

export const responseBodyOperations = [body]
