import { restoreJob } from '@meridian/core/job/restore'
import { getJobVersion, listJobVersions } from '@meridian/core/job/versions'
import { notFound } from '@meridian/core/kernel/errors'
import { listOccurrences } from '@meridian/core/run/occurrences'
import { z } from 'zod'
import { expectedVersion } from '../http/etag.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import {
  jobToWire,
  jobVersionSummaryToWire,
  jobVersionSummaryWire,
  jobVersionToWire,
  jobVersionWire,
  jobWire,
  occurrenceToWire,
  occurrenceWire,
} from '../wire/job.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { instantInput, pathId } from '../wire/values.ts'

const jobParams = z.object({ jobId: pathId('job') })

const versionNumber = z
  .string()
  .transform((text) => {
    if (!/^[1-9]\d{0,8}$/.test(text)) throw notFound('version of the job')
    return Number(text)
  })
  .meta({ type: 'integer', examples: [1] })
const versionParams = z.object({ jobId: pathId('job'), version: versionNumber })

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
  answer: { status: 200, description: 'A page of occurrences.', schema: pageOf(occurrenceWire) },
  async handle({ ctx, params, query }) {
    const nowMs = ctx.clock.nowMs()
    const range = { from: query.from ?? new Date(nowMs - weekMs), to: query.to ?? new Date(nowMs + weekMs) }
    return toPage(await listOccurrences(ctx, params.jobId, range, toPageRequest(query)), occurrenceToWire)
  },
})

export const jobHistoryOperations = [versions, version, restore, occurrences]
