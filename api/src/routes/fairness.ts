import { shareReport } from '@meridian/core/flow/shares'
import { validationFailed } from '@meridian/core/kernel/errors'
import { z } from 'zod'
import { needs, operation } from '../http/operation.ts'
import { instant, instantInput, toInstant } from '../wire/values.ts'

const hourMs = 3_600_000
const rangeMaxMs = 31 * 24 * hourMs

const wait = (what: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `Milliseconds; ${what}. Null: none has begun.` })

const report = operation({
  id: 'getFairness',
  method: 'get',
  path: '/v1/fairness',
  tag: 'Stats',
  summary: 'See what share of the slots the organisation got',
  description:
    'What it had of each pool beside what it should have had, by samples of live runs, and how long its runs waited. Of the last hour, unless `from` and `to` say otherwise. Of other organisations nothing is told but what they are together.',
  access: needs('queues:read'),
  query: z.strictObject({ from: instantInput.optional(), to: instantInput.optional() }),
  answer: {
    status: 200,
    description: 'The shares of the organisation, all its projects together.',
    schema: z
      .strictObject({
        from: instant,
        to: instant,
        pools: z.array(
          z.strictObject({
            pool: z.string().meta({ description: 'Region and class.' }),
            weight: z.number().meta({ description: 'Of the organisation.' }),
            received: z.number().meta({ description: 'Slots that it had, on average while anything ran in the pool.' }),
            entitled: z.number().meta({
              description:
                'Slots that it should have had: its share by weight of what was in use, and no more than it wanted.',
            }),
            ratio: z.number().nullable().meta({ description: '`received` by `entitled`; null: it wanted nothing.' }),
            slots: z.number().meta({ description: 'Slots in use, of all organisations together.' }),
            tenants: z.number().meta({ description: 'Organisations that had slots, or waited for some.' }),
            jainIndex: z.number().meta({
              description: 'How even the shares of all were, each for what it should have been: 1 when all got alike.',
            }),
          }),
        ),
        waits: z
          .strictObject({
            runs: z
              .int()
              .meta({ description: 'First attempts that were looked at: of the latest 10,000 runs of each project.' }),
            p50Ms: wait('half of them waited no longer'),
            p95Ms: wait('19 of 20 waited no longer'),
          })
          .meta({ description: 'From the due instant until the attempt began.' }),
      })
      .meta({ id: 'Fairness' }),
  },
  async handle({ ctx, query }) {
    const to = query.to ?? new Date(ctx.clock.nowMs())
    const from = query.from ?? new Date(to.getTime() - hourMs)
    const span = to.getTime() - from.getTime()
    if (span <= 0) throw validationFailed([{ pointer: '/to', detail: 'must be after from' }])
    if (span > rangeMaxMs) throw validationFailed([{ pointer: '/from', detail: 'must be at most 31 days before to' }])
    const { pools, waits } = await shareReport(ctx, { from, to })
    return {
      from: toInstant(from),
      to: toInstant(to),
      pools: pools.map(({ jain, ...pool }) => ({
        ...pool,
        ratio: pool.entitled === 0 ? null : pool.received / pool.entitled,
        jainIndex: jain,
      })),
      waits,
    }
  },
})

export const fairnessOperations = [report]
