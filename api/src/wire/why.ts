import { queueClassValue } from '@meridian/core/flow/queue'
import { toWireId } from '@meridian/core/kernel/ids'
import { type Evidence, type Why, whyCodes } from '@meridian/core/why/why'
import { z } from 'zod'
import { actor, instant, toActor, toInstant, toInstantOrNull, wireId } from './values.ts'

const evidenceWire = z
  .strictObject({
    runIds: z.array(wireId('run')).optional().meta({ description: 'Runs that are in the way, at most ten.' }),
    jobId: wireId('job').optional(),
    queue: z.string().optional(),
    class: queueClassValue.optional().meta({ description: 'Of the queue.' }),
    host: z.string().optional().meta({ description: 'Whose breaker holds it.' }),
    limitId: wireId('lim').optional(),
    key: z.string().optional().meta({ description: "The value of the limit's key." }),
    by: actor.optional(),
    reason: z.string().optional(),
    since: instant.optional(),
    until: instant.optional(),
    at: instant.optional(),
    attempt: z.int().optional(),
    attemptsMax: z.int().optional(),
    error: z.string().optional(),
    limit: z.int().optional().meta({ description: 'How many may be open at once.' }),
    used: z.int().optional().meta({ description: 'How many are.' }),
    ahead: z.int().optional().meta({ description: 'How many of the queue come before it.' }),
    name: z.string().optional(),
  })
  .meta({ id: 'WhyEvidence', description: 'What a reason is seen by; only what there is.' })

export const whyWire = z
  .strictObject({
    reasons: z.array(
      z
        .strictObject({
          code: z.enum(whyCodes).meta({ id: 'WhyCode' }),
          detail: z.string().meta({ description: 'The same in a sentence.' }),
          evidence: evidenceWire,
          expectedAt: instant
            .nullable()
            .meta({ description: 'When it is expected to be over; null: nobody can tell.' }),
        })
        .meta({ id: 'WhyReason' }),
    ),
    isWaiting: z
      .boolean()
      .meta({ description: 'Whether it waits: for its instant, or until something lets it go on.' }),
    expectedAt: instant.nullable().meta({ description: 'When it is expected to go on; null: nobody can tell.' }),
    expiresAt: instant.nullable().meta({ description: 'When it expires, should it still wait by then.' }),
  })
  .meta({ id: 'Why', description: 'All reasons that hold now, the one that decides first.' })

function evidenceToWire(evidence: Evidence): z.output<typeof evidenceWire> {
  const { runIds, jobId, limitId, by, since, until, at, ...rest } = evidence
  return {
    ...(runIds === undefined ? {} : { runIds: runIds.map((id) => toWireId('run', id)) }),
    ...(jobId === undefined ? {} : { jobId: toWireId('job', jobId) }),
    ...(limitId === undefined ? {} : { limitId: toWireId('lim', limitId) }),
    ...(by === undefined ? {} : { by: toActor(by) }),
    ...(since === undefined ? {} : { since: toInstant(since) }),
    ...(until === undefined ? {} : { until: toInstant(until) }),
    ...(at === undefined ? {} : { at: toInstant(at) }),
    ...rest,
  }
}

export const whyToWire = ({ reasons, isWaiting, expectedAt, expiresAt }: Why): z.output<typeof whyWire> => ({
  reasons: reasons.map((reason) => ({
    code: reason.code,
    detail: reason.detail,
    evidence: evidenceToWire(reason.evidence),
    expectedAt: toInstantOrNull(reason.expectedAt),
  })),
  isWaiting,
  expectedAt: toInstantOrNull(expectedAt),
  expiresAt: toInstantOrNull(expiresAt),
})
