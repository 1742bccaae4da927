import { validationFailed } from '@meridian/core/kernel/errors'
import { toWireId } from '@meridian/core/kernel/ids'
import { runStatuses } from '@meridian/core/run/run'
import { openCounts, runHistogram } from '@meridian/core/run/stats'
import { upcoming } from '@meridian/core/run/upcoming'
import { z } from 'zod'
import { needs, operation } from '../http/operation.ts'
import { instant, instantInput, toInstant, wholeNumber, wireId } from '../wire/values.ts'

const dayMs = 86_400_000
const rangeMaxMs = 366 * dayMs

const runs = operation({
  id: 'getRunStats',
  method: 'get',
  path: '/v1/stats/runs',
  tag: 'Stats',
  summary: 'See how runs ended over time',
  description:
    'Counts in equal slices of time; of the last 24 hours, unless `from` and `to` say otherwise. It may trail the truth by a second.',
  access: needs('runs:read'),
  query: z.strictObject({
    from: instantInput.optional(),
    to: instantInput.optional(),
    buckets: wholeNumber(1, 500).default(48),
  }),
  answer: {
    status: 200,
    description: 'The slices, oldest first.',
    schema: z
      .strictObject({
        from: instant,
        to: instant,
        buckets: z.array(
          z.strictObject({
            from: instant,
            to: instant,
            counts: z
              .partialRecord(z.enum(runStatuses), z.int())
              .meta({ description: 'By status; those with none are left out.' }),
          }),
        ),
      })
      .meta({ id: 'RunStats' }),
  },
  async handle({ ctx, query }) {
    const to = query.to ?? new Date(ctx.clock.nowMs())
    const from = query.from ?? new Date(to.getTime() - dayMs)
    const span = to.getTime() - from.getTime()
    if (span <= 0) throw validationFailed([{ pointer: '/to', detail: 'must be after from' }])
    if (span > rangeMaxMs) throw validationFailed([{ pointer: '/from', detail: 'must be at most 366 days before to' }])
    const buckets = await runHistogram(ctx, { from, to, buckets: query.buckets })
    return {
      from: toInstant(from),
      to: toInstant(to),
      buckets: buckets.map((bucket) => ({
        from: toInstant(bucket.from),
        to: toInstant(bucket.to),
        counts: bucket.counts,
      })),
    }
  },
})

const open = operation({
  id: 'getOpenRuns',
  method: 'get',
  path: '/v1/stats/open',
  tag: 'Stats',
  summary: 'See how many runs are open now',
  description: 'Counting stops at 100,000 scheduled and ready ones.',
  access: needs('runs:read'),
  answer: {
    status: 200,
    description: 'Open runs by status.',
    schema: z
      .strictObject({ scheduled: z.int(), ready: z.int(), queued: z.int(), running: z.int() })
      .meta({ id: 'OpenRuns' }),
  },
  handle: async ({ ctx }) => openCounts(ctx),
})

const next = operation({
  id: 'listUpcoming',
  method: 'get',
  path: '/v1/upcoming',
  tag: 'Stats',
  summary: 'See what the schedules will do',
  access: needs('jobs:read'),
  query: z.strictObject({
    until: instantInput.optional().meta({ description: 'In 24 hours, when absent.' }),
    limit: wholeNumber(1, 1_000).default(100),
  }),
  answer: {
    status: 200,
    description: 'Instants of all schedules in order.',
    schema: z.strictObject({
      data: z.array(
        z
          .strictObject({ jobId: wireId('job'), jobName: z.string(), nominalAt: instant, effectiveAt: instant })
          .meta({ id: 'UpcomingRun' }),
      ),
    }),
  },
  async handle({ ctx, query }) {
    const until = query.until ?? new Date(ctx.clock.nowMs() + dayMs)
    const data = await upcoming(ctx, { until, limit: query.limit })
    return {
      data: data.map(({ jobId, jobName, nominalAt, effectiveAt }) => ({
        jobId: toWireId('job', jobId),
        jobName,
        nominalAt: toInstant(nominalAt),
        effectiveAt: toInstant(effectiveAt),
      })),
    }
  },
})

export const statsOperations = [runs, open, next]
