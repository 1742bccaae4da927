import { concurrencyValue, weightValue } from '@meridian/core/flow/queue'
import { queuePools } from '@meridian/core/flow/queues'
import { setShare } from '@meridian/core/flow/set-share'
import { shareReport } from '@meridian/core/flow/shares'
import { validationFailed } from '@meridian/core/kernel/errors'
import { z } from 'zod'
import { needs, operation } from '../http/operation.ts'
import { fairnessToWire, fairnessWire } from '../wire/fairness.ts'
import { instantInput } from '../wire/values.ts'

const hourMs = 3_600_000
const rangeMaxMs = 31 * 24 * hourMs

const report = operation({
  id: 'getFairness',
  method: 'get',
  path: '/v1/fairness',
  tag: 'Stats',
  summary: 'See what share of the slots the organisation got',
  description:
    'What it had of each pool beside what it should have had, by samples of live runs, the same of the queues of the project, and how long runs waited. Of the last hour, unless `from` and `to` say otherwise. Of other organisations nothing is told but what they are together.',
  access: needs('queues:read'),
  query: z.strictObject({ from: instantInput.optional(), to: instantInput.optional() }),
  answer: { status: 200, description: 'The shares of the organisation and of its queues.', schema: fairnessWire },
  async handle({ ctx, query }) {
    const to = query.to ?? new Date(ctx.clock.nowMs())
    const from = query.from ?? new Date(to.getTime() - hourMs)
    const span = to.getTime() - from.getTime()
    if (span <= 0) throw validationFailed([{ pointer: '/to', detail: 'must be after from' }])
    if (span > rangeMaxMs) throw validationFailed([{ pointer: '/from', detail: 'must be at most 31 days before to' }])
    return fairnessToWire({ from, to }, await shareReport(ctx, { from, to }))
  },
})

const share = operation({
  id: 'setShare',
  method: 'patch',
  path: '/v1/fairness/share',
  tag: 'Stats',
  summary: 'Set what share of the slots the organisation may have',
  description: 'For operators: no role and no key that a tenant makes can do it. What is left out stays.',
  access: needs('shares:write'),
  body: z
    .strictObject({ weight: weightValue.optional(), concurrency: concurrencyValue.optional() })
    .meta({ id: 'ShareChanges' }),
  example: { weight: 2 },
  answer: {
    status: 200,
    description: 'The share.',
    schema: z
      .strictObject({
        weight: z.number().meta({ description: 'Its share where slots are scarce, beside those of others.' }),
        concurrency: z.int().meta({ description: 'The most slots of each pool that it may have at once.' }),
      })
      .meta({ id: 'Share' }),
  },
  async handle({ ctx, body, services }) {
    const after = await setShare(ctx, body)
    for (const pool of await queuePools(ctx)) services.wake.forQueue(pool)
    return after
  },
})

export const fairnessOperations = [report, share]
