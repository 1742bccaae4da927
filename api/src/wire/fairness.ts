import { queueClassValue } from '@meridian/core/flow/queue'
import type { ShareReport, Waits } from '@meridian/core/flow/shares'
import { toDuration } from '@meridian/core/kernel/duration'
import { z } from 'zod'
import { instant, toInstant } from './values.ts'

const wait = (what: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `Milliseconds; ${what}. Null: none has begun.` })

const waits = z
  .strictObject({
    runs: z
      .int()
      .meta({ description: 'First attempts that were looked at: of the latest 10,000 runs of each project.' }),
    p50Ms: wait('half of them waited no longer'),
    p95Ms: wait('19 of 20 waited no longer'),
  })
  .meta({ id: 'Waits', description: 'From the due instant until the attempt began.' })

const received = z.number().meta({ description: 'Slots that it had, on average while anything ran in the pool.' })
const ratio = z.number().nullable().meta({ description: '`received` by `entitled`; null: it wanted nothing.' })
const entitled = z.number().meta({
  description: 'Slots that it should have had: its share by weight of what was in use, and no more than it wanted.',
})
const pool = z.string().meta({ description: 'The region of its executors, which queues of all classes share.' })
const slots = z.number().meta({ description: 'Slots in use, of all organisations together.' })

export const fairnessWire = z
  .strictObject({
    from: instant,
    to: instant,
    pools: z.array(
      z.strictObject({
        pool,
        weight: z.number().meta({ description: 'Of the organisation.' }),
        received,
        entitled,
        ratio,
        slots,
        tenants: z.number().meta({ description: 'Organisations that had slots, or waited for some.' }),
        jainIndex: z.number().meta({
          description: 'How even the shares of all were, each for what it should have been: 1 when all got alike.',
        }),
        series: z
          .array(z.strictObject({ at: instant, received, entitled, slots }))
          .meta({ description: 'The same step by step; those in which nothing ran are left out.' }),
      }),
    ),
    step: z.string().meta({ description: 'How long a step of a series is.', examples: ['PT1M'] }),
    queues: z
      .array(
        z.strictObject({
          queue: z.string(),
          pool,
          class: queueClassValue.meta({ description: 'Of the queue, as it is now.' }),
          weight: z.number().meta({ description: 'Of the queue, within the organisation.' }),
          received,
          entitled: z.number().meta({
            description:
              'Slots that it should have had of those which the organisation had for its class, and no more than it wanted.',
          }),
          ratio,
          waits,
        }),
      )
      .meta({
        description: 'Queues of the project that had slots, or waited for some: a hundred, the largest shares first.',
      }),
    waits,
  })
  .meta({ id: 'Fairness' })

type Fairness = z.infer<typeof fairnessWire>

/** Means of samples, without the digits that say nothing. */
const mean = (value: number): number => Math.round(value * 1_000) / 1_000

const shareToWire = (each: { received: number; entitled: number }) => ({
  received: mean(each.received),
  entitled: mean(each.entitled),
})

const shareWithRatio = (each: { received: number; entitled: number }) => ({
  ...shareToWire(each),
  ratio: each.entitled === 0 ? null : mean(each.received / each.entitled),
})

const whole = (value: number | null): number | null => (value === null ? null : Math.round(value))

const waitsToWire = ({ runs, p50Ms, p95Ms }: Waits) => ({ runs, p50Ms: whole(p50Ms), p95Ms: whole(p95Ms) })

export const fairnessToWire = (range: { from: Date; to: Date }, report: ShareReport): Fairness => ({
  from: toInstant(range.from),
  to: toInstant(range.to),
  pools: report.pools.map((each) => ({
    ...{ pool: each.pool, weight: each.weight },
    ...shareWithRatio(each),
    ...{ slots: mean(each.slots), tenants: mean(each.tenants), jainIndex: mean(each.jain) },
    series: each.series.map((step) => ({
      at: toInstant(step.at),
      ...shareToWire(step),
      slots: mean(step.slots),
    })),
  })),
  step: toDuration(report.stepMs),
  queues: report.queues.map((each) => ({
    ...{ queue: each.queue, pool: each.pool, class: each.class, weight: each.weight },
    ...shareWithRatio(each),
    waits: waitsToWire(each.waits),
  })),
  waits: waitsToWire(report.waits),
})
