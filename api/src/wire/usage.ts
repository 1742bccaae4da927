import type { LimitUsage, QueueUsage, SlotUsage } from '@meridian/core/flow/usage'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { instant, toInstant, toInstantOrNull, wireId } from './values.ts'

const slots = {
  used: z.int().meta({ description: 'Units in use.' }),
  holding: z.int().meta({ description: 'Runs that use them.' }),
  holders: z
    .array(
      z
        .strictObject({ runId: wireId('run'), since: instant, units: z.int() })
        .meta({ id: 'SlotHolder', description: 'A run that has a slot.' }),
    )
    .meta({ description: 'Those that have held longest, at most ten; runs of other projects are not named.' }),
  waiting: z.int().meta({ description: 'Runs that are due and wait.' }),
  isLowerBound: z.boolean().meta({ description: 'Counting stopped: there may be more that wait.' }),
  firstWaiting: z
    .array(z.strictObject({ runId: wireId('run'), dueAt: instant }).meta({ id: 'SlotWaiter' }))
    .meta({ description: 'The next of them, at most ten.' }),
  waitingSince: instant.nullable().meta({ description: 'Since when the one waits that has waited longest.' }),
}

const slotsToWire = (usage: SlotUsage) => ({
  used: usage.used,
  holding: usage.holding,
  holders: usage.holders.map(({ runId, since, units }) => ({
    runId: toWireId('run', runId),
    since: toInstant(since),
    units,
  })),
  waiting: usage.waiting,
  isLowerBound: usage.isLowerBound,
  firstWaiting: usage.firstWaiting.map(({ runId, dueAt }) => ({
    runId: toWireId('run', runId),
    dueAt: toInstant(dueAt),
  })),
  waitingSince: toInstantOrNull(usage.waitingSince),
})

export const limitUsageWire = z
  .strictObject({
    key: z.string().meta({ description: 'The value of its key; empty where it has none.' }),
    concurrency: z.int().nullable(),
    room: z.int().nullable().meta({ description: 'Units that it lets through at this moment; null: any number.' }),
    tokens: z.int().nullable().meta({ description: 'Tokens of its rate that are there; null: it has none.' }),
    nextTokenAt: instant.nullable().meta({ description: 'When there is a token again, where there is none now.' }),
    backlog: z.int().nullable().meta({
      description: 'Runs that count against its backlog, also those that are due later; null: it has none.',
    }),
    ...slots,
  })
  .meta({ id: 'LimitUsage', description: 'Who holds a limit and who waits for it, for one value of its key.' })

export const limitUsageToWire = (usage: LimitUsage): z.output<typeof limitUsageWire> => ({
  key: usage.key,
  concurrency: usage.concurrency,
  room: usage.room,
  tokens: usage.tokens,
  nextTokenAt: toInstantOrNull(usage.nextTokenAt),
  backlog: usage.backlog,
  ...slotsToWire(usage),
})

const slotUsageWire = z
  .strictObject({ concurrency: z.int(), ...slots })
  .meta({ id: 'SlotUsage', description: 'Who has slots and who waits for one.' })

export const queueUsageWire = z
  .strictObject({
    queue: slotUsageWire,
    tenant: slotUsageWire.meta({ description: 'Of the organisation, in the pool of the queue.' }),
  })
  .meta({ id: 'QueueUsage' })

export const queueUsageToWire = ({ queue, tenant }: QueueUsage): z.output<typeof queueUsageWire> => ({
  queue: { concurrency: queue.concurrency, ...slotsToWire(queue) },
  tenant: { concurrency: tenant.concurrency, ...slotsToWire(tenant) },
})
