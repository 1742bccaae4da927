import { withIdempotency } from '@meridian/core/access/idempotency'
import {
  advanceByValue,
  advanceTestClock,
  createTestClock,
  deleteTestClock,
  getTestClock,
  listTestClocks,
  testClockNameValue,
} from '@meridian/core/clock/test-clocks'
import { z } from 'zod'
import { needs, operation, Reply } from '../http/operation.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { testClockToWire, testClockWire } from '../wire/test-clock.ts'
import { instantInput, naming, pathId } from '../wire/values.ts'

const clockParams = z.object({ testClockId: pathId('clk') })

const create = operation({
  id: 'createTestClock',
  method: 'post',
  path: '/v1/test-clocks',
  tag: 'Test clocks',
  summary: 'Give a project for tests its clock',
  description:
    'The project has to be made with `hasTestClock`. Schedules, `dueAt` and retries follow the clock; leases, timeouts and signatures stay real.',
  access: needs('projects:write'),
  body: z
    .strictObject({
      name: testClockNameValue.default('Test clock'),
      now: instantInput.meta({ description: 'Where it stands.' }),
    })
    .meta({ id: 'NewTestClock' }),
  example: { name: 'A month of invoices', now: '2026-03-01T00:00:00.000Z' },
  isCreate: true,
  answer: { status: 201, description: 'The clock.', schema: testClockWire },
  problems: ['conflict'],
  async handle({ ctx, body, idempotency }) {
    const { answer, replayed } = await naming(
      'clk',
      withIdempotency(ctx, idempotency, async (tx) => {
        const clock = await createTestClock(tx, body)
        return { subject: clock.id, answer: testClockToWire(clock) }
      }),
    )
    return new Reply(answer, replayed ? { headers: { 'idempotency-replayed': 'true' } } : {})
  },
})

const list = operation({
  id: 'listTestClocks',
  method: 'get',
  path: '/v1/test-clocks',
  tag: 'Test clocks',
  summary: 'List the clocks of the project: one, or none',
  access: needs('projects:read'),
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of clocks.', schema: pageOf(testClockWire) },
  handle: async ({ ctx, query }) => toPage(await listTestClocks(ctx, toPageRequest(query)), testClockToWire),
})

const get = operation({
  id: 'getTestClock',
  method: 'get',
  path: '/v1/test-clocks/{testClockId}',
  tag: 'Test clocks',
  summary: 'Get a test clock',
  access: needs('projects:read'),
  params: clockParams,
  answer: { status: 200, description: 'The clock.', schema: testClockWire },
  handle: async ({ ctx, params }) => testClockToWire(await getTestClock(ctx, params.testClockId)),
})

const advance = operation({
  id: 'advanceTestClock',
  method: 'post',
  path: '/v1/test-clocks/{testClockId}/advance',
  tag: 'Test clocks',
  summary: 'Send a test clock forward',
  description:
    'To an instant, or by a length of time. It goes from one due instant to the next and waits at each until what was due has run; `target` is null again when it has arrived.',
  access: needs('projects:write'),
  params: clockParams,
  body: z
    .union([z.strictObject({ to: instantInput }), z.strictObject({ by: advanceByValue })])
    .meta({ id: 'AdvanceTestClock' }),
  example: { by: 'P1M' },
  answer: { status: 200, description: 'The clock, on its way.', schema: testClockWire },
  problems: ['conflict'],
  handle: async ({ ctx, params, body }) => testClockToWire(await advanceTestClock(ctx, params.testClockId, body)),
})

const remove = operation({
  id: 'deleteTestClock',
  method: 'delete',
  path: '/v1/test-clocks/{testClockId}',
  tag: 'Test clocks',
  summary: 'Take a test clock away',
  description: 'Nothing is due in the project until it has another one. Its ledger goes with it.',
  access: needs('projects:write'),
  params: clockParams,
  answer: { status: 204, description: 'It is gone.' },
  handle: ({ ctx, params }) => deleteTestClock(ctx, params.testClockId),
})

export const testClockOperations = [create, list, get, advance, remove]
