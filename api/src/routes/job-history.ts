import { restoreJob } from '@meridian/core/job/restore'
import { getJobVersion, listJobVersions } from '@meridian/core/job/versions'
import { notFound } from '@meridian/core/kernel/errors'
import { editOccurrence, occurrenceNoteValue } from '@meridian/core/run/edit-occurrence'
import { jobUpcoming } from '@meridian/core/run/job-upcoming'
import { countedBy, countOccurrences } from '@meridian/core/run/occurrence-counts'
import { listOccurrences } from '@meridian/core/run/occurrences'
import { countUpcoming } from '@meridian/core/run/upcoming-counts'
import { timezoneValue } from '@meridian/core/schedule/schedule-shape'
import { z } from 'zod'
import { expectedVersion } from '../http/etag.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import {
  jobInstantToWire,
  jobInstantWire,
  jobToWire,
  jobVersionSummaryToWire,
  jobVersionSummaryWire,
  jobVersionToWire,
  jobVersionWire,
  jobWire,
  listedOccurrenceToWire,
  listedOccurrenceWire,
  occurrenceCountsToWire,
  occurrenceCountsWire,
  occurrenceToWire,
  occurrenceWire,
  upcomingCountsToWire,
  upcomingCountsWire,
} from '../wire/job.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { instantInput, pathId, wholeNumber } from '../wire/values.ts'

const jobParams = z.object({ jobId: pathId('job') })

const versionNumber = z
  .string()
  .transform((text) => {
    if (!/^[1-9]\d{0,8}$/.test(text)) throw notFound('version of the job')
    return Number(text)
  })
  .meta({ type: 'integer', examples: [1] })
const versionParams = z.object({ jobId: pathId('job'), version: versionNumber })

/** What is no instant names no occurrence. */
const nominalParam = z
  .string()
  .transform((text): Date => {
    const parsed = instantInput.safeParse(text)
    if (!parsed.success) throw notFound('occurrence')
    return parsed.data
  })
  .meta({ type: 'string', format: 'date-time', examples: ['2026-03-29T05:25:00.000Z'] })

const versions = operation({
  id: 'listJobVersions',
  method: 'get',
  path: '/v1/jobs/{jobId}/versions',
  tag: 'Jobs',
  summary: 'List the versions of a job, newest first',
  access: needs('jobs:read'),
  params: jobParams,
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of versions.', schema: pageOf(jobVersionSummaryWire) },
  handle: async ({ ctx, params, query }) =>
    toPage(await listJobVersions(ctx, params.jobId, toPageRequest(query)), jobVersionSummaryToWire),
})

const version = operation({
  id: 'getJobVersion',
  method: 'get',
  path: '/v1/jobs/{jobId}/versions/{version}',
  tag: 'Jobs',
  summary: 'Get a version of a job',
  access: needs('jobs:read'),
  params: versionParams,
  answer: { status: 200, description: 'The version.', schema: jobVersionWire },
  handle: async ({ ctx, params }) => jobVersionToWire(await getJobVersion(ctx, params.jobId, params.version)),
})

const restore = operation({
  id: 'restoreJobVersion',
  method: 'post',
  path: '/v1/jobs/{jobId}/versions/{version}/restore',
  tag: 'Jobs',
  summary: 'Make an earlier version the current one',
  description: 'As a new version. The job keeps the external id it has.',
  access: needs('jobs:write'),
  params: versionParams,
  isGuarded: true,
  answer: { status: 200, description: 'The job.', schema: jobWire },
  problems: ['invalid-transition'],
  async handle({ ctx, params, header }) {
    const job = await restoreJob(ctx, params.jobId, {
      version: params.version,
      expectedVersion: expectedVersion(header('if-match')),
    })
    return new Reply(jobToWire(job), { version: job.version })
  },
})

const weekMs = 7 * 86_400_000

const occurrences = operation({
  id: 'listOccurrences',
  method: 'get',
  path: '/v1/jobs/{jobId}/occurrences',
  tag: 'Jobs',
  summary: "List the ledger of a job's schedule, oldest first",
  description:
    'Every instant it asked for and what became of it. Of the last week and the days ahead, unless `from` and `to` say otherwise.',
  access: needs('jobs:read'),
  params: jobParams,
  query: z.strictObject({
    ...pageQuery,
    from: instantInput.optional().meta({ description: 'At this instant or later.' }),
    to: instantInput.optional().meta({ description: 'Before this instant.' }),
  }),
  answer: { status: 200, description: 'A page of occurrences.', schema: pageOf(listedOccurrenceWire) },
  async handle({ ctx, params, query }) {
    const nowMs = ctx.clock.nowMs()
    const range = { from: query.from ?? new Date(nowMs - weekMs), to: query.to ?? new Date(nowMs + weekMs) }
    return toPage(await listOccurrences(ctx, params.jobId, range, toPageRequest(query)), listedOccurrenceToWire)
  },
})

const counts = operation({
  id: 'countOccurrences',
  method: 'get',
  path: '/v1/jobs/{jobId}/occurrences/counts',
  tag: 'Jobs',
  summary: "Count the ledger of a job's schedule",
  description:
    'By the minutes of a day, the hours of 35 days, or the days of 400, as the clocks of a zone have them. Of the last week and the days ahead, unless `from` and `to` say otherwise.',
  access: needs('jobs:read'),
  params: jobParams,
  query: z.strictObject({
    from: instantInput.optional().meta({ description: 'At this instant or later.' }),
    to: instantInput.optional().meta({ description: 'Before this instant.' }),
    by: z.enum(Object.keys(countedBy) as (keyof typeof countedBy)[]).default('day'),
    timezone: timezoneValue.default('UTC'),
  }),
  answer: { status: 200, description: 'The counts.', schema: occurrenceCountsWire },
  async handle({ ctx, params, query }) {
    const nowMs = ctx.clock.nowMs()
    const { by, timezone } = query
    const range = { from: query.from ?? new Date(nowMs - weekMs), to: query.to ?? new Date(nowMs + weekMs) }
    return occurrenceCountsToWire(await countOccurrences(ctx, params.jobId, { ...range, by, timezone }))
  },
})

const upcoming = operation({
  id: 'listJobUpcoming',
  method: 'get',
  path: '/v1/jobs/{jobId}/upcoming',
  tag: 'Jobs',
  summary: "See the instants to come of a job's schedule",
  description:
    'As its schedule, calendars and blackouts have them, also while it is paused. What was done to single ones is in the ledger.',
  access: needs('jobs:read'),
  params: jobParams,
  query: z.strictObject({
    from: instantInput.optional().meta({ description: 'At this instant or later; from now on, when absent.' }),
    until: instantInput.optional().meta({ description: 'Up to this instant; a week from now, when absent.' }),
    limit: wholeNumber(1, 2_000).default(100),
  }),
  answer: {
    status: 200,
    description: 'The instants, in order.',
    schema: z.strictObject({ data: z.array(jobInstantWire) }),
  },
  async handle({ ctx, params, query }) {
    const { from, limit } = query
    const until = query.until ?? new Date(ctx.clock.nowMs() + weekMs)
    return { data: (await jobUpcoming(ctx, params.jobId, { from, until, limit })).map(jobInstantToWire) }
  },
})

const upcomingCounts = operation({
  id: 'countJobUpcoming',
  method: 'get',
  path: '/v1/jobs/{jobId}/upcoming/counts',
  tag: 'Jobs',
  summary: "Count the instants to come of a job's schedule",
  description:
    'By the minutes of a day, the hours of 35 days, or the days of 400, as the clocks of a zone have them, also while it is paused. What is in the ledger is counted there, and not here. Of the next week, unless `from` and `to` say otherwise.',
  access: needs('jobs:read'),
  params: jobParams,
  query: z.strictObject({
    from: instantInput.optional().meta({ description: 'At this instant or later; from now on, when absent.' }),
    to: instantInput.optional().meta({ description: 'Before this instant.' }),
    by: z.enum(Object.keys(countedBy) as (keyof typeof countedBy)[]).default('day'),
    timezone: timezoneValue.default('UTC'),
  }),
  answer: { status: 200, description: 'The counts.', schema: upcomingCountsWire },
  async handle({ ctx, params, query }) {
    const nowMs = ctx.clock.nowMs()
    const { by, timezone } = query
    const range = { from: query.from ?? new Date(nowMs), to: query.to ?? new Date(nowMs + weekMs) }
    return upcomingCountsToWire(await countUpcoming(ctx, params.jobId, { ...range, by, timezone }))
  },
})

const edit = operation({
  id: 'editOccurrence',
  method: 'patch',
  path: '/v1/jobs/{jobId}/occurrences/{nominalAt}',
  tag: 'Jobs',
  summary: 'Skip, move or annotate one occurrence',
  description:
    'Before it is due, at most 8 weeks ahead. What is left out stays: `skip: false` and `moveTo: null` take an edit back. An edit that leaves the schedule as it is keeps it, and so does a new schedule that has the same instant.',
  access: needs('jobs:write'),
  params: z.object({ jobId: pathId('job'), nominalAt: nominalParam }),
  body: z
    .strictObject({
      skip: z.boolean().optional().meta({ description: 'Whether it is left out.' }),
      moveTo: instantInput
        .nullable()
        .optional()
        .meta({ description: 'When it runs instead; null: as its schedule says.' }),
      note: occurrenceNoteValue.nullable().optional(),
    })
    .meta({ id: 'EditOccurrence' }),
  example: { skip: true, note: 'The bank is closed.' },
  answer: { status: 200, description: 'The occurrence.', schema: occurrenceWire },
  problems: ['invalid-transition'],
  async handle({ ctx, params, body }) {
    return occurrenceToWire(await editOccurrence(ctx, params.jobId, params.nominalAt, body))
  },
})

export const jobHistoryOperations = [versions, version, restore, occurrences, counts, upcoming, upcomingCounts, edit]
