import { findProjectCollisions } from '@meridian/core/forecast/collisions'
import { lookAhead } from '@meridian/core/forecast/horizon'
import { forecastLoad, type LoadSeries, seriesKinds } from '@meridian/core/forecast/load'
import { countStarts } from '@meridian/core/forecast/starts'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { needs, operation } from '../http/operation.ts'
import { instant, instantInput, toInstant, wholeNumber, wireId } from '../wire/values.ts'

const dayMs = 86_400_000

const until = instantInput.optional().meta({ description: 'In 24 hours, when absent; at most in 31 days.' })

/** The finest slices of a forecast: minutes for a day, hours for a month. */
const bucketMinutesFor = (lengthMs: number): number => (lengthMs <= dayMs ? 1 : lengthMs <= 7 * dayMs ? 10 : 60)

const uncountedJobs = z.int().meta({ description: 'Jobs whose schedules have too many instants to be counted.' })

const seriesFields = {
  capacity: z
    .int()
    .nullable()
    .meta({ description: 'The most that can go on at once; null: nothing limits it, or nobody is there to do it.' }),
  starts: z.array(z.int()).meta({ description: 'Runs that start, slice by slice.' }),
  running: z
    .array(z.number())
    .meta({ description: "Runs that go on, on average over each slice, by how long their jobs' runs took." }),
}

const load = operation({
  id: 'getForecast',
  method: 'get',
  path: '/v1/forecast',
  tag: 'Forecast',
  summary: 'See the load that comes',
  description:
    'Starts are exact, since schedules, calendars and blackouts are known. In minutes for up to a day, in tens of minutes for up to a week, else in hours.',
  access: needs('jobs:read'),
  query: z.strictObject({ until }),
  answer: {
    status: 200,
    description: 'Consecutive slices of time, from the minute that is going on.',
    schema: z
      .strictObject({
        from: instant,
        bucketSeconds: z.int(),
        total: z.strictObject(seriesFields),
        series: z
          .array(z.strictObject({ kind: z.enum(seriesKinds), name: z.string(), ...seriesFields }))
          .meta({ description: 'At most 25 of each kind, those with the most starts.' }),
        jobs: z.int().meta({ description: 'Jobs with a schedule that goes on.' }),
        unmeasuredJobs: z
          .int()
          .meta({ description: 'Jobs without a run to measure: they count in `starts`, not in `running`.' }),
        uncountedJobs,
      })
      .meta({ id: 'Forecast' }),
  },
  async handle({ ctx, query }) {
    const { nowMs, untilMs } = await lookAhead(ctx, query.until)
    const bucketMs = bucketMinutesFor(untilMs - nowMs) * 60_000
    const { from, total, series, ...counts } = await forecastLoad(ctx, { untilMs, bucketMs })
    const toSeries = ({ capacity, starts, running }: LoadSeries) => ({ capacity, starts, running })
    return {
      from: toInstant(from),
      bucketSeconds: bucketMs / 1_000,
      total: toSeries(total),
      series: series.map((one) => ({ kind: one.kind, name: one.name, ...toSeries(one) })),
      jobs: counts.jobs,
      unmeasuredJobs: counts.unmeasuredJobs,
      uncountedJobs: counts.uncountedJobs,
    }
  },
})

const starts = operation({
  id: 'getForecastStarts',
  method: 'get',
  path: '/v1/forecast/starts',
  tag: 'Forecast',
  summary: 'See how many runs start when',
  description: 'Exact counts in equal slices, with runs that were given an instant of their own.',
  access: needs('jobs:read'),
  query: z.strictObject({ until, buckets: wholeNumber(1, 500).default(48) }),
  answer: {
    status: 200,
    description: 'The slices, from the minute that is going on.',
    schema: z
      .strictObject({
        from: instant,
        until: instant,
        buckets: z.array(z.strictObject({ from: instant, to: instant, count: z.int() })),
        uncountedJobs,
      })
      .meta({ id: 'ForecastStarts' }),
  },
  async handle({ ctx, query }) {
    const { untilMs } = await lookAhead(ctx, query.until)
    const { from, bucketMs, counts, uncountedJobs } = await countStarts(ctx, { untilMs, buckets: query.buckets })
    const edge = (bucket: number): string => toInstant(new Date(from.getTime() + bucket * bucketMs))
    return {
      from: edge(0),
      until: edge(counts.length),
      buckets: counts.map((count, bucket) => ({ from: edge(bucket), to: edge(bucket + 1), count })),
      uncountedJobs,
    }
  },
})

const collisions = operation({
  id: 'listCollisions',
  method: 'get',
  path: '/v1/forecast/collisions',
  tag: 'Forecast',
  summary: 'Find jobs that start at the very same time',
  description:
    'The worst first, at most 20, each with a window that spreads them: a change of many jobs (`jobs.edit`) gives it to them.',
  access: needs('jobs:read'),
  query: z.strictObject({
    until,
    least: wholeNumber(2, 100_000).default(10).meta({ description: 'Fewer jobs at one time are none.' }),
    named: wholeNumber(1, 1_000).default(20).meta({ description: 'How many jobs of each are named at most.' }),
  }),
  answer: {
    status: 200,
    description: 'The collisions.',
    schema: z.strictObject({
      data: z.array(
        z
          .strictObject({
            at: instant.meta({ description: 'The first time.' }),
            times: z.int().meta({ description: 'How often the same jobs meet.' }),
            count: z.int().meta({ description: 'Jobs that start then.' }),
            jobs: z
              .array(z.strictObject({ id: wireId('job'), name: z.string() }))
              .meta({ description: 'Some of them, as many as asked for.' }),
            suggestion: z
              .strictObject({
                window: z.string().meta({ examples: ['PT30M'] }),
                perMinute: z.int().meta({ description: 'Starts a minute that it would leave.' }),
              })
              .nullable()
              .meta({
                description: "A `window` for these jobs' schedules; null where a blackout ends that they waited for.",
              }),
          })
          .meta({ id: 'Collision' }),
      ),
    }),
  },
  async handle({ ctx, query }) {
    const { untilMs } = await lookAhead(ctx, query.until)
    const found = await findProjectCollisions(ctx, { untilMs, least: query.least, namedMax: query.named })
    return {
      data: found.map(({ at, jobs, ...collision }) => ({
        ...collision,
        at: toInstant(at),
        jobs: jobs.map(({ id, name }) => ({ id: toWireId('job', id), name })),
      })),
    }
  },
})

export const forecastOperations = [load, starts, collisions]
