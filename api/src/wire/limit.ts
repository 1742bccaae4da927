import {
  backlogMaxValue,
  expressionValue,
  hostValue,
  type Limit,
  limitNameValue,
  type Rate,
  rateCountValue,
  unitsValue,
  whenFullRules,
} from '@meridian/core/flow/limit'
import { queueNameValue } from '@meridian/core/flow/queue'
import { durationMs, durationValue, toDuration } from '@meridian/core/kernel/duration'
import { toWireId, type Uuid } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import {
  actor,
  idReference,
  instant,
  toActorOrNull,
  toInstant,
  toInstantOrNull,
  toWireIdOrNull,
  wireId,
} from './values.ts'

const queueScope = z.strictObject({ type: z.literal('queue'), queue: queueNameValue })
const hostScope = z.strictObject({
  type: z.literal('host'),
  host: hostValue.meta({ description: '`*.example.com`: every host below it. Without a port, every port.' }),
})
const tenantScope = z
  .strictObject({ type: z.literal('tenant') })
  .meta({ description: 'All projects: set by people only.' })
const projectScope = z.strictObject({ type: z.literal('project') })

export const scopeInput = z
  .discriminatedUnion('type', [
    tenantScope,
    projectScope,
    queueScope,
    z.strictObject({ type: z.literal('job'), jobId: idReference('job') }),
    hostScope,
  ])
  .meta({ id: 'NewLimitScope' })

const scopeWire = z
  .discriminatedUnion('type', [
    tenantScope,
    projectScope,
    z.strictObject({ type: z.literal('queue'), queue: z.string() }),
    z.strictObject({ type: z.literal('job'), jobId: wireId('job') }),
    z.strictObject({ type: z.literal('host'), host: z.string() }),
  ])
  .meta({ id: 'LimitScope', description: 'What the limit holds for.' })

const rateWire = z
  .strictObject({
    count: rateCountValue,
    per: durationValue('PT1S', 'PT168H').meta({ description: 'From a second to a week (`PT168H`).' }),
    burst: rateCountValue.meta({ description: 'How many units may come at once. Left out: as many as `count`.' }),
  })
  .meta({ id: 'LimitRate', description: 'So many units in each period.' })

export const rateInput = rateWire.extend({ burst: rateWire.shape.burst.optional() }).meta({ id: 'NewLimitRate' })

export const toRate = ({ count, per, burst = count }: z.output<typeof rateInput>): Rate => ({
  count,
  perMs: durationMs(per) ?? 0,
  burst,
})

export const backlogWire = z
  .strictObject({
    max: backlogMaxValue,
    whenFull: z.enum(whenFullRules).meta({
      description: 'Refuse the newest run with a 429, or end the one that is due first as skipped.',
    }),
  })
  .meta({ id: 'LimitBacklog', description: 'How many runs may wait, for a slot or for their time.' })

export const settings = {
  concurrency: unitsValue.nullable().meta({ description: 'The most units that may be queued or running at once.' }),
  rate: rateInput.nullable(),
  backlog: backlogWire.nullable(),
}

export const expressions = {
  key: expressionValue.nullable().meta({
    description: 'CEL over the run: the limit holds apart for each value. Null: one for all.',
    examples: ['body.customer.id'],
  }),
  cost: expressionValue.nullable().meta({
    description: 'CEL over the run: how many units it takes, 1 to 1,000. Null: one.',
    examples: ['int(body.pages)'],
  }),
}

export { limitNameValue }

export const limitWire = z
  .strictObject({
    id: wireId('lim'),
    projectId: wireId('prj').nullable().meta({ description: 'Null: of the whole organisation.' }),
    name: z.string(),
    scope: scopeWire,
    key: z.string().nullable(),
    cost: z.string().nullable(),
    concurrency: z.int().nullable(),
    rate: rateWire.nullable(),
    backlog: backlogWire.nullable(),
    pausedAt: instant.nullable(),
    pausedBy: actor.nullable(),
    pauseReason: z.string().nullable(),
    pinnedAt: instant.nullable().meta({ description: 'Since when only an operator can change it.' }),
    pinnedBy: actor.nullable(),
    createdAt: instant,
    updatedAt: instant,
    version: z.int(),
  })
  .meta({ id: 'Limit' })

/** `queueNames` has the names of the queues that limits of the answer are for. */
export const limitToWire = (limit: Limit, queueNames: ReadonlyMap<Uuid, string>): z.output<typeof limitWire> => ({
  id: toWireId('lim', limit.id),
  projectId: toWireIdOrNull('prj', limit.projectId),
  name: limit.name,
  scope: scopeToWire(limit.scope, queueNames),
  key: limit.key,
  cost: limit.cost,
  concurrency: limit.concurrency,
  rate: limit.rate && { count: limit.rate.count, per: toDuration(limit.rate.perMs), burst: limit.rate.burst },
  backlog: limit.backlog,
  pausedAt: toInstantOrNull(limit.pausedAt),
  pausedBy: toActorOrNull(limit.pausedBy),
  pauseReason: limit.pauseReason,
  pinnedAt: toInstantOrNull(limit.pinnedAt),
  pinnedBy: toActorOrNull(limit.pinnedBy),
  createdAt: toInstant(limit.createdAt),
  updatedAt: toInstant(limit.updatedAt),
  version: limit.version,
})

function scopeToWire(scope: Limit['scope'], queueNames: ReadonlyMap<Uuid, string>): z.output<typeof scopeWire> {
  if (scope.type === 'queue') return { type: 'queue', queue: queueNames.get(scope.queueId) ?? '' }
  if (scope.type === 'job') return { type: 'job', jobId: toWireId('job', scope.jobId) }
  return scope
}
