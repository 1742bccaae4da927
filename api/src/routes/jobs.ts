import { withIdempotency } from '@meridian/core/access/idempotency'
import type { Ctx } from '@meridian/core/db/context'
import { archiveJob, unarchiveJob } from '@meridian/core/job/archive'
import { createJob } from '@meridian/core/job/create'
import { deleteJob } from '@meridian/core/job/delete'
import { getJob, getJobByExternalId } from '@meridian/core/job/get'
import {
  externalIdValue,
  type JobSummary,
  jobChangesValue,
  jobDefinitionValue,
  jobStates,
  pauseReasonValue,
} from '@meridian/core/job/job'
import { listJobs } from '@meridian/core/job/list'
import { pauseJob, resumeJob } from '@meridian/core/job/set-state'
import { simulateUpdate } from '@meridian/core/job/simulate'
import { updateJob } from '@meridian/core/job/update'
import { upsertJob } from '@meridian/core/job/upsert'
import { AppError } from '@meridian/core/kernel/errors'
import { batchValue, debounceValue, deduplicationValue } from '@meridian/core/run/create-key'
import { labelFields } from '@meridian/core/run/details'
import { overlapRules } from '@meridian/core/run/overlap'
import { recentRuns, successRates } from '@meridian/core/run/stats'
import { prepareJobRun } from '@meridian/core/run/trigger'
import { z } from 'zod'
import { createdRun, existingRun } from '../http/created-run.ts'
import { expectedVersion } from '../http/etag.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import { requireCallable } from '../http/target-guard.ts'
import { jobSummaryToWire, jobSummaryWire, jobToWire, jobWire, type Recent, recentToWire } from '../wire/job.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { runWire } from '../wire/run.ts'
import { simulationToWire, simulationWire } from '../wire/simulation.ts'
import { dryRunFlag, instantInput, listOf, naming, pathId } from '../wire/values.ts'

const jobParams = z.object({ jobId: pathId('job') })
const externalParams = z.object({ externalId: externalIdValue })
const newJob = jobDefinitionValue.meta({ id: 'NewJob' })
const jobChanges = jobChangesValue.meta({
  id: 'JobChanges',
  description: 'What is left out stays, what is given replaces the whole field.',
})
const jobUpsert = jobDefinitionValue
  .omit({ externalId: true })
  .meta({ id: 'JobUpsert', description: 'What is left out becomes the default.' })

const exampleJob = {
  name: 'Nightly invoices',
  schedule: { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' },
  target: { type: 'http', url: 'https://example.com/hooks/nightly', body: { hello: 'world' } },
}

const create = operation({
  id: 'createJob',
  method: 'post',
  path: '/v1/jobs',
  tag: 'Jobs',
  summary: 'Create a job',
  access: needs('jobs:write'),
  body: newJob,
  example: { ...exampleJob, externalId: 'nightly-invoices' },
  isCreate: true,
  answer: { status: 201, description: 'The job.', schema: jobWire },
  problems: ['conflict'],
  async handle({ ctx, body, idempotency, services }) {
    requireCallable(services, body.target, '/target')
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const job = await naming('job', createJob(tx, body))
      return { subject: job.id, answer: jobToWire(job) }
    })
    return new Reply(answer, {
      version: answer.version,
      ...(replayed ? { headers: { 'idempotency-replayed': 'true' } } : {}),
    })
  },
})

const recentCount = 30
const dayMs = 86_400_000

const list = operation({
  id: 'listJobs',
  method: 'get',
  path: '/v1/jobs',
  tag: 'Jobs',
  summary: 'List jobs, newest first',
  description: 'Without their targets. `include=recent` adds the last 30 runs of each and how those of a day ended.',
  access: needs('jobs:read'),
  query: z.strictObject({
    ...pageQuery,
    state: z.enum(jobStates).optional().meta({ description: 'Left out: active and paused ones.' }),
    search: z.string().max(200).optional().meta({ description: 'Part of the name, or the start of the external id.' }),
    tag: z.string().max(63).optional(),
    queue: z.string().max(64).optional(),
    externalId: z.string().max(200).optional(),
    include: listOf(z.enum(['recent'])).optional(),
  }),
  answer: { status: 200, description: 'A page of jobs.', schema: pageOf(jobSummaryWire) },
  async handle({ ctx, query }) {
    const { limit, cursor, include, externalId, tag, ...rest } = query
    const filter = { ...rest, ...(tag === undefined ? {} : { tags: [tag] }) }
    const page =
      externalId === undefined
        ? await listJobs(ctx, filter, toPageRequest({ limit, cursor }))
        : { items: await findByExternalId(ctx, externalId), nextCursor: null }
    const recent = include?.includes('recent')
      ? await readRecent(
          ctx,
          page.items.map(({ id }) => id),
        )
      : undefined
    return toPage(page, (job) => {
      const own = recent?.get(job.id)
      return own === undefined ? jobSummaryToWire(job) : { ...jobSummaryToWire(job), recent: recentToWire(own) }
    })
  },
})

async function findByExternalId(ctx: Ctx, externalId: string): Promise<JobSummary[]> {
  try {
    return [await getJobByExternalId(ctx, externalId)]
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found') return []
    throw error
  }
}

async function readRecent(ctx: Ctx, ids: string[]): Promise<Map<string, Recent>> {
  const [runs, day, week] = await Promise.all([
    recentRuns(ctx, ids, recentCount),
    successRates(ctx, ids, new Date(ctx.clock.nowMs() - dayMs)),
    successRates(ctx, ids, new Date(ctx.clock.nowMs() - 7 * dayMs)),
  ])
  const none = { succeeded: 0, failed: 0 }
  return new Map(
    ids.map((id) => [id, { runs: runs.get(id) ?? [], ...(day.get(id) ?? none), week: week.get(id) ?? none }]),
  )
}

const get = operation({
  id: 'getJob',
  method: 'get',
  path: '/v1/jobs/{jobId}',
  tag: 'Jobs',
  summary: 'Get a job',
  access: needs('jobs:read'),
  params: jobParams,
  hasEtag: true,
  answer: { status: 200, description: 'The job.', schema: jobWire },
  async handle({ ctx, params }) {
    const job = await getJob(ctx, params.jobId)
    return new Reply(jobToWire(job), { version: job.version })
  },
})

const getByExternalId = operation({
  id: 'getJobByExternalId',
  method: 'get',
  path: '/v1/jobs/by-external-id/{externalId}',
  tag: 'Jobs',
  summary: 'Get a job by your own id of it',
  access: needs('jobs:read'),
  params: externalParams,
  hasEtag: true,
  answer: { status: 200, description: 'The job.', schema: jobWire },
  async handle({ ctx, params }) {
    const job = await getJobByExternalId(ctx, params.externalId)
    return new Reply(jobToWire(job), { version: job.version })
  },
})

const upsert = operation({
  id: 'upsertJob',
  method: 'put',
  path: '/v1/jobs/by-external-id/{externalId}',
  tag: 'Jobs',
  summary: 'Create a job, or make it be exactly this',
  description:
    '201 when it was created, 200 when it was there. A call that changes nothing makes no version. An archived job is brought back.',
  access: needs('jobs:write'),
  params: externalParams,
  body: jobUpsert,
  example: exampleJob,
  isGuarded: true,
  answer: { status: 200, description: 'The job, which was there.', schema: jobWire },
  otherwise: { status: 201, description: 'The job, which is new.' },
  async handle({ ctx, params, body, header, services }) {
    requireCallable(services, body.target, '/target')
    const { job, outcome } = await naming(
      'job',
      upsertJob(ctx, params.externalId, { ...body, expectedVersion: expectedVersion(header('if-match')) }),
    )
    return new Reply(jobToWire(job), { version: job.version, status: outcome === 'created' ? 201 : 200 })
  },
})

const update = operation({
  id: 'updateJob',
  method: 'patch',
  path: '/v1/jobs/{jobId}',
  tag: 'Jobs',
  summary: 'Change a job',
  description:
    'Makes a new version when anything differs. What its schedule had written ahead is taken back. With `dryRun=true` nothing is written, and the answer tells what would change.',
  access: needs('jobs:write'),
  params: jobParams,
  query: z.strictObject({ dryRun: dryRunFlag('Writes nothing and tells what would change.') }),
  body: jobChanges,
  example: {
    name: 'Nightly invoices, later',
    schedule: { type: 'cron', cron: '25 7 * * *', timezone: 'Europe/London' },
  },
  isGuarded: true,
  answer: { status: 200, description: 'The job, or what would change.', schema: z.union([jobWire, simulationWire]) },
  problems: ['conflict', 'invalid-transition'],
  async handle({ ctx, params, query, body, header, services }) {
    requireCallable(services, body.target, '/target')
    const changes = { ...body, expectedVersion: expectedVersion(header('if-match')) }
    if (query.dryRun) return simulationToWire(await naming('job', simulateUpdate(ctx, params.jobId, changes)))
    const job = await naming('job', updateJob(ctx, params.jobId, changes))
    return new Reply(jobToWire(job), { version: job.version })
  },
})

const remove = operation({
  id: 'deleteJob',
  method: 'delete',
  path: '/v1/jobs/{jobId}',
  tag: 'Jobs',
  summary: 'Delete a job',
  description: 'Its schedule ends and its external id is free. Runs that are on their way go on; its history stays.',
  access: needs('jobs:write'),
  params: jobParams,
  isGuarded: true,
  answer: { status: 204, description: 'It is gone.' },
  async handle({ ctx, params, header }) {
    await deleteJob(ctx, params.jobId, { expectedVersion: expectedVersion(header('if-match')) })
  },
})

const pause = operation({
  id: 'pauseJob',
  method: 'post',
  path: '/v1/jobs/{jobId}/pause',
  tag: 'Jobs',
  summary: "Stop a job's schedule",
  access: needs('jobs:write'),
  params: jobParams,
  body: z
    .strictObject({
      reason: pauseReasonValue.nullable().default(null),
      until: instantInput.nullable().default(null).meta({ description: 'When it is resumed by itself.' }),
    })
    .meta({ id: 'PauseJob' }),
  isBodyOptional: true,
  example: { reason: 'The target is being moved.' },
  answer: { status: 200, description: 'The job.', schema: jobWire },
  problems: ['invalid-transition'],
  async handle({ ctx, params, body }) {
    const job = await pauseJob(ctx, params.jobId, body.reason, body.until)
    return new Reply(jobToWire(job), { version: job.version })
  },
})

const resume = operation({
  id: 'resumeJob',
  method: 'post',
  path: '/v1/jobs/{jobId}/resume',
  tag: 'Jobs',
  summary: "Let a job's schedule go on",
  description: 'At its first instant from now: what was missed meanwhile is not made up for, and told as skipped.',
  access: needs('jobs:write'),
  params: jobParams,
  answer: { status: 200, description: 'The job.', schema: jobWire },
  problems: ['invalid-transition'],
  async handle({ ctx, params }) {
    const job = await resumeJob(ctx, params.jobId)
    return new Reply(jobToWire(job), { version: job.version })
  },
})

const archive = operation({
  id: 'archiveJob',
  method: 'post',
  path: '/v1/jobs/{jobId}/archive',
  tag: 'Jobs',
  summary: 'Put a job away',
  description:
    'Its schedule stands still and lists leave it out, until it is brought back. Its history and its external id stay; runs that are on their way go on.',
  access: needs('jobs:write'),
  params: jobParams,
  isGuarded: true,
  answer: { status: 200, description: 'The job.', schema: jobWire },
  async handle({ ctx, params, header }) {
    const job = await archiveJob(ctx, params.jobId, { expectedVersion: expectedVersion(header('if-match')) })
    return new Reply(jobToWire(job), { version: job.version })
  },
})

const unarchive = operation({
  id: 'unarchiveJob',
  method: 'post',
  path: '/v1/jobs/{jobId}/unarchive',
  tag: 'Jobs',
  summary: 'Bring an archived job back',
  description:
    'Active or paused, as it was. Its schedule goes on from now: what fell into the time between is skipped.',
  access: needs('jobs:write'),
  params: jobParams,
  answer: { status: 200, description: 'The job.', schema: jobWire },
  async handle({ ctx, params }) {
    const job = await unarchiveJob(ctx, params.jobId)
    return new Reply(jobToWire(job), { version: job.version })
  },
})

const run = operation({
  id: 'runJob',
  method: 'post',
  path: '/v1/jobs/{jobId}/run',
  tag: 'Jobs',
  summary: 'Run a job now, or at an instant',
  description:
    'Beside its schedule; a paused job may be run. The overlap rule of the job is not asked: `overlap` says what happens to this run, `allow` when it is absent.',
  access: needs('runs:write'),
  params: jobParams,
  body: z
    .strictObject({
      body: z.unknown().optional().meta({ description: "Replaces the body of the job's request." }),
      dueAt: instantInput.optional(),
      tags: labelFields.tags,
      metadata: labelFields.metadata,
      deduplication: deduplicationValue.optional(),
      debounce: debounceValue.optional(),
      batch: batchValue.optional(),
      overlap: z
        .enum(overlapRules)
        .default('allow')
        .meta({ description: "What happens while the job still has an open run, whatever the job's own rule says." }),
    })
    .meta({ id: 'RunJob' }),
  isBodyOptional: true,
  example: { body: { hello: 'again' } },
  isCreate: true,
  answer: { status: 201, description: 'The run.', schema: runWire },
  otherwise: existingRun,
  problems: ['invalid-transition'],
  async handle({ ctx, params, body, idempotency, services }) {
    const { overlap, ...options } = body
    const row = await prepareJobRun(ctx, params.jobId, {
      ...options,
      idempotencyKey: idempotency?.key,
      fingerprint: idempotency?.fingerprint,
    })
    const accepted =
      overlap === 'allow' ? await services.intake.accept(row) : await services.intake.acceptMinding(row, overlap)
    return createdRun(services, ctx, accepted)
  },
})

export const jobOperations = [
  create,
  list,
  getByExternalId,
  upsert,
  get,
  update,
  remove,
  pause,
  resume,
  archive,
  unarchive,
  run,
]
