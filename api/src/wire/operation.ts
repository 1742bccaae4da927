import { jobFilterValue } from '@meridian/core/job/filter'
import { toWireId } from '@meridian/core/kernel/ids'
import { kindNames, kindOf } from '@meridian/core/operation/kinds'
import { itemStates, type Operation, type OperationItem, operationStates } from '@meridian/core/operation/operation'
import { z } from 'zod'
import { actor, idReference, instant, toActor, toInstant, toInstantOrNull, toWireIdOrNull, wireId } from './values.ts'

/** The filter of jobs as it is written by callers: ids with their prefix. */
export const jobFilterInput = jobFilterValue
  .extend({ ids: z.array(idReference('job')).min(1).max(1_000).optional() })
  .meta({ id: 'JobFilter', description: 'Which jobs: everything that is given has to be true of a job.' })

export const operationKind = z.enum(kindNames).meta({ id: 'OperationKind', description: 'What an operation does.' })

const thingId = z
  .string()
  .nullable()
  .meta({ description: 'The job, or the run once there is one.', examples: ['job_01h455vb4pex5vsknk084sn02q'] })

const things = z.array(z.strictObject({ id: thingId, name: z.string() }))

export const operationWire = z
  .strictObject({
    id: wireId('op'),
    kind: operationKind,
    plan: z.record(z.string(), z.unknown()).meta({ description: 'What was asked for.' }),
    state: z.enum(operationStates).meta({ description: '`planned` is a dry run’s: nothing of it is kept.' }),
    total: z.int(),
    done: z.int(),
    unchanged: z.int().meta({ description: 'Nothing had to be done to them.' }),
    failed: z.int(),
    rate: z.number().nullable().meta({ description: 'The most things a second; null: as fast as it goes.' }),
    createdBy: actor,
    undoOf: wireId('op').nullable().meta({ description: 'The operation that this one takes back.' }),
    undoneBy: wireId('op').nullable(),
    canUndo: z.boolean(),
    sample: things.meta({ description: 'The first few things.' }),
    createdAt: instant,
    updatedAt: instant,
    finishedAt: instant.nullable(),
  })
  .meta({ id: 'Operation' })

/** What the things of a kind are called. */
const thingPrefix = (kind: string): 'job' | 'run' => (kindOf(kind).things === 'runs' ? 'run' : 'job')

export const operationToWire = (operation: Operation): z.output<typeof operationWire> => ({
  id: toWireId('op', operation.id),
  kind: operationKind.parse(operation.kind),
  plan: planToWire(operation.kind, operation.plan),
  state: operation.state,
  total: operation.total,
  done: operation.done,
  unchanged: operation.unchanged,
  failed: operation.failed,
  rate: operation.rate,
  createdBy: toActor(operation.actor),
  undoOf: toWireIdOrNull('op', operation.undoOf),
  undoneBy: toWireIdOrNull('op', operation.undoneBy),
  canUndo: operation.canUndo,
  sample: operation.sample.map(({ id, name }) => ({ id: toWireIdOrNull(thingPrefix(operation.kind), id), name })),
  createdAt: toInstant(operation.createdAt),
  updatedAt: toInstant(operation.updatedAt),
  finishedAt: toInstantOrNull(operation.finishedAt),
})

/** Ids in a plan, too, leave with their prefix. */
function planToWire(kind: string, { filter, ...plan }: Record<string, unknown>): Record<string, unknown> {
  const { ids, ...rest } = (filter ?? {}) as { ids?: string[] } & Record<string, unknown>
  const seen = {
    ...(ids === undefined ? {} : { ids: ids.map((id) => toWireId(thingPrefix(kind), id)) }),
    ...jobToWireId(rest),
  }
  return { ...(filter === undefined ? {} : { filter: seen }), ...jobToWireId(plan) }
}

const jobToWireId = ({ jobId, ...rest }: Record<string, unknown>): Record<string, unknown> =>
  typeof jobId === 'string' ? { jobId: toWireId('job', jobId), ...rest } : rest

export const operationItemWire = z
  .strictObject({
    position: z.int(),
    id: thingId,
    name: z.string(),
    state: z.enum(itemStates),
    detail: z.string().nullable().meta({ description: 'Why it failed, or why nothing had to be done.' }),
  })
  .meta({ id: 'OperationItem' })

export const operationItemToWire =
  (kind: string) =>
  ({ position, itemId, name, state, detail }: OperationItem): z.output<typeof operationItemWire> => ({
    position,
    id: toWireIdOrNull(thingPrefix(kind), itemId),
    name,
    state,
    detail,
  })
