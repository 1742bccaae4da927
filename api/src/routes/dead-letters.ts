import { withIdempotency } from '@meridian/core/access/idempotency'
import { discardLetter, redriveLetter } from '@meridian/core/dead-letter/handle'
import { getDeadLetter, groupDeadLetters, listDeadLetters } from '@meridian/core/dead-letter/list'
import { durationMs } from '@meridian/core/kernel/duration'
import { redriveFields } from '@meridian/core/operation/bulk-dead-letters'
import { z } from 'zod'
import { needs, operation, Reply } from '../http/operation.ts'
import {
  deadLetterToWire,
  deadLetterWire,
  letterFilterInput,
  letterGroupToWire,
  letterGroupWire,
  letterState,
} from '../wire/dead-letter.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { runToWire, runWire } from '../wire/run.ts'
import { pathId } from '../wire/values.ts'

const letterParams = z.object({ runId: pathId('run') })
const { fingerprint, jobId, queue, error } = letterFilterInput.shape

const list = operation({
  id: 'listDeadLetters',
  method: 'get',
  path: '/v1/dead-letters',
  tag: 'Dead letters',
  summary: 'List runs that failed and wait to be handled, newest first',
  access: needs('runs:read'),
  query: z.strictObject({
    ...pageQuery,
    state: letterState.default('open'),
    fingerprint,
    jobId,
    queue,
    error,
    isQuarantined: z
      .stringbool({ truthy: ['true', '1'], falsy: ['false', '0'], error: 'must be true or false' })
      .optional()
      .meta({ type: 'boolean', description: 'Only those that are quarantined, or only those that are not.' }),
  }),
  answer: { status: 200, description: 'A page of dead letters.', schema: pageOf(deadLetterWire) },
  async handle({ ctx, query: { limit, cursor, ...filter } }) {
    return toPage(await listDeadLetters(ctx, filter, toPageRequest({ limit, cursor })), deadLetterToWire)
  },
})

const groups = operation({
  id: 'groupDeadLetters',
  method: 'get',
  path: '/v1/dead-letters/groups',
  tag: 'Dead letters',
  summary: 'Count open dead letters by what they failed of',
  description: 'Up to 200 groups, the one that grew last first.',
  access: needs('runs:read'),
  answer: { status: 200, description: 'The groups.', schema: pageOf(letterGroupWire) },
  handle: async ({ ctx }) => ({ data: (await groupDeadLetters(ctx)).map(letterGroupToWire), nextCursor: null }),
})

const get = operation({
  id: 'getDeadLetter',
  method: 'get',
  path: '/v1/dead-letters/{runId}',
  tag: 'Dead letters',
  summary: 'Get the dead letter of a run, handled or not',
  access: needs('runs:read'),
  params: letterParams,
  answer: { status: 200, description: 'The dead letter.', schema: deadLetterWire },
  handle: async ({ ctx, params }) => deadLetterToWire(await getDeadLetter(ctx, params.runId)),
})

const redrive = operation({
  id: 'redriveDeadLetter',
  method: 'post',
  path: '/v1/dead-letters/{runId}/redrive',
  tag: 'Dead letters',
  summary: 'Run again what a dead letter’s run did',
  description:
    'A new run with the same request, or with another body. Many at once: an operation of the kind `dead-letters.redrive`.',
  access: needs('runs:write'),
  params: letterParams,
  body: z
    .strictObject({
      delay: redriveFields.delay,
      evenQuarantined: redriveFields.evenQuarantined,
      body: z.unknown().optional().meta({ description: 'Replaces the body of the request.' }),
    })
    .meta({ id: 'RedriveDeadLetter' }),
  isBodyOptional: true,
  example: {},
  isCreate: true,
  answer: { status: 201, description: 'The new run.', schema: runWire },
  problems: ['conflict', 'invalid-transition'],
  async handle({ ctx, params, body, idempotency, services }) {
    await ctx.keyRing.load(ctx.tenantId)
    const { delay, evenQuarantined } = body
    let wake = (): void => undefined
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const options = { delayMs: durationMs(delay ?? '') ?? 0, evenQuarantined, body: body.body }
      const { run, row, result } = await redriveLetter(tx, params.runId, options)
      wake = () => services.wake.forRuns([row], [result])
      return { subject: run.id, answer: runToWire(run) }
    })
    wake()
    return new Reply(answer, replayed ? { headers: { 'idempotency-replayed': 'true' } } : {})
  },
})

const discard = operation({
  id: 'discardDeadLetter',
  method: 'post',
  path: '/v1/dead-letters/{runId}/discard',
  tag: 'Dead letters',
  summary: 'Handle a dead letter by doing nothing more',
  access: needs('runs:write'),
  params: letterParams,
  answer: { status: 200, description: 'The dead letter, handled.', schema: deadLetterWire },
  problems: ['invalid-transition'],
  handle: async ({ ctx, params }) => deadLetterToWire(await discardLetter(ctx, params.runId)),
})

export const deadLetterOperations = [list, groups, get, redrive, discard]
