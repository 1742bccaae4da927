import { withIdempotency } from '@meridian/core/access/idempotency'
import {
  blackoutNameValue,
  blackoutRollValue,
  createBlackout,
  deleteBlackout,
  getBlackout,
  listBlackouts,
  updateBlackout,
} from '@meridian/core/calendar/blackouts'
import { affectedBy } from '@meridian/core/forecast/affected'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { expectedVersion } from '../http/etag.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import { blackoutToWire, blackoutWire } from '../wire/calendar.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { idReference, instantInput, pathId, wireId } from '../wire/values.ts'

const blackoutParams = z.object({ blackoutId: pathId('blk') })

const create = operation({
  id: 'createBlackout',
  method: 'post',
  path: '/v1/blackouts',
  tag: 'Calendars',
  summary: 'Set a blackout',
  description: 'Nothing starts by its schedule in it. Runs that were started otherwise are not held back.',
  access: needs('calendars:write'),
  body: z
    .strictObject({
      name: blackoutNameValue,
      from: instantInput,
      until: instantInput.meta({ description: 'Exclusive.' }),
      roll: blackoutRollValue.default('skip'),
      isForAll: z.boolean().default(false).meta({ description: 'For all projects: set by people only.' }),
    })
    .meta({ id: 'NewBlackout' }),
  example: { name: 'Database move', from: '2026-12-05T22:00:00.000Z', until: '2026-12-06T02:00:00.000Z', roll: 'next' },
  isCreate: true,
  answer: { status: 201, description: 'The blackout.', schema: blackoutWire },
  problems: ['quota-exceeded'],
  async handle({ ctx, body, idempotency }) {
    const { from, until, ...rest } = body
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const blackout = await createBlackout(tx, { ...rest, fromAt: from, untilAt: until })
      return { subject: blackout.id, answer: blackoutToWire(blackout) }
    })
    return new Reply(answer, {
      version: answer.version,
      ...(replayed ? { headers: { 'idempotency-replayed': 'true' } } : {}),
    })
  },
})

const list = operation({
  id: 'listBlackouts',
  method: 'get',
  path: '/v1/blackouts',
  tag: 'Calendars',
  summary: 'List blackouts, oldest first',
  description: 'Of the project and of all projects.',
  access: needs('calendars:read'),
  query: z.strictObject({
    ...pageQuery,
    open: z.enum(['true', 'false']).optional().meta({ description: '`true`: only those that are not over.' }),
  }),
  answer: { status: 200, description: 'A page of blackouts.', schema: pageOf(blackoutWire) },
  handle: async ({ ctx, query }) =>
    toPage(await listBlackouts(ctx, { isOpen: query.open === 'true' }, toPageRequest(query)), blackoutToWire),
})

const get = operation({
  id: 'getBlackout',
  method: 'get',
  path: '/v1/blackouts/{blackoutId}',
  tag: 'Calendars',
  summary: 'Get a blackout',
  access: needs('calendars:read'),
  params: blackoutParams,
  hasEtag: true,
  answer: { status: 200, description: 'The blackout.', schema: blackoutWire },
  async handle({ ctx, params }) {
    const blackout = await getBlackout(ctx, params.blackoutId)
    return new Reply(blackoutToWire(blackout), { version: blackout.version })
  },
})

const update = operation({
  id: 'updateBlackout',
  method: 'patch',
  path: '/v1/blackouts/{blackoutId}',
  tag: 'Calendars',
  summary: 'Change a blackout',
  access: needs('calendars:write'),
  params: blackoutParams,
  body: z
    .strictObject({
      name: blackoutNameValue.optional(),
      from: instantInput.optional(),
      until: instantInput.optional(),
      roll: blackoutRollValue.optional(),
    })
    .meta({ id: 'BlackoutChanges', description: 'What is left out stays.' }),
  example: { name: 'Database move, announced', roll: 'next' },
  isGuarded: true,
  answer: { status: 200, description: 'The blackout.', schema: blackoutWire },
  async handle({ ctx, params, body, header }) {
    const { name, from, until, roll } = body
    const changes = { name, fromAt: from, untilAt: until, roll }
    const blackout = await updateBlackout(ctx, params.blackoutId, {
      ...changes,
      expectedVersion: expectedVersion(header('if-match')),
    })
    return new Reply(blackoutToWire(blackout), { version: blackout.version })
  },
})

const remove = operation({
  id: 'deleteBlackout',
  method: 'delete',
  path: '/v1/blackouts/{blackoutId}',
  tag: 'Calendars',
  summary: 'Lift a blackout',
  description: 'What waits for its end is decided again.',
  access: needs('calendars:write'),
  params: blackoutParams,
  isGuarded: true,
  answer: { status: 204, description: 'It is gone.' },
  async handle({ ctx, params, header }) {
    await deleteBlackout(ctx, params.blackoutId, { expectedVersion: expectedVersion(header('if-match')) })
  },
})

const preview = operation({
  id: 'previewBlackout',
  method: 'post',
  path: '/v1/blackouts/preview',
  tag: 'Calendars',
  summary: 'Count what a blackout would decide about',
  description: 'The starts to come that fall into it. They would be skipped, or wait for its end. Saves nothing.',
  access: needs('jobs:read'),
  body: z
    .strictObject({
      from: instantInput,
      until: instantInput.meta({ description: 'Exclusive.' }),
      isForAll: z.boolean().default(false).meta({ description: 'In all projects.' }),
      blackoutId: idReference('blk').optional().meta({ description: 'One that is to be changed: as if it were not.' }),
    })
    .meta({ id: 'BlackoutStretch' }),
  example: { from: '2026-12-05T22:00:00.000Z', until: '2026-12-06T02:00:00.000Z' },
  answer: {
    status: 200,
    description: 'What falls into it.',
    schema: z
      .strictObject({
        starts: z.int(),
        jobCount: z.int().meta({ description: 'Jobs whose starts these are.' }),
        jobs: z
          .array(z.strictObject({ id: wireId('job'), name: z.string(), starts: z.int() }))
          .meta({ description: 'Those of this project with the most, at most 20.' }),
        uncountedJobs: z.int().meta({ description: 'Jobs whose schedules have too many instants to be counted.' }),
      })
      .meta({ id: 'BlackoutPreview' }),
  },
  async handle({ ctx, body }) {
    const { from, until, isForAll, blackoutId } = body
    const { jobs, ...counts } = await affectedBy(ctx, { fromAt: from, untilAt: until, isForAll, blackoutId })
    return { ...counts, jobs: jobs.map((job) => ({ ...job, id: toWireId('job', job.id) })) }
  },
})

export const blackoutOperations = [create, list, preview, get, update, remove]
