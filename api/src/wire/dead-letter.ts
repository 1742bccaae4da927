import {
  type DeadLetter,
  failuresMax,
  type LetterGroup,
  letterFilterValue,
  letterStates,
} from '@meridian/core/dead-letter/dead-letter'
import { toWireId } from '@meridian/core/kernel/ids'
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

/** The filter of dead letters as it is written by callers: ids with their prefix. */
export const letterFilterInput = letterFilterValue
  .extend({ ids: z.array(idReference('run')).min(1).max(1_000).optional(), jobId: idReference('job').optional() })
  .meta({ id: 'DeadLetterFilter', description: 'Which dead letters: everything that is given has to be true of one.' })

export const letterState = z.enum(letterStates).meta({ id: 'DeadLetterState' })

const fingerprint = z
  .string()
  .meta({ description: 'The same for runs of one job (or queue) that failed of one thing.' })
const about = {
  fingerprint,
  jobId: wireId('job').nullable(),
  jobName: z.string().nullable(),
  queue: z.string(),
  status: z.enum(['failed', 'expired']).meta({ description: 'How the run ended.' }),
  error: z.string().meta({ description: 'Machine code of what went wrong.' }),
  httpStatus: z.int().nullable(),
}

export const deadLetterWire = z
  .strictObject({
    runId: wireId('run'),
    ...about,
    failures: z.int().meta({ description: 'How often the item has come to this end, its redrives included.' }),
    isQuarantined: z.boolean().meta({ description: `More than ${failuresMax} times: redriving many leaves it alone.` }),
    firstFailedAt: instant,
    failedAt: instant,
    state: letterState,
    handledAt: instant.nullable(),
    handledBy: actor.nullable(),
    redrivenAs: wireId('run').nullable().meta({ description: 'The run that it was redriven as.' }),
  })
  .meta({ id: 'DeadLetter' })

export const letterGroupWire = z
  .strictObject({
    ...about,
    count: z.int().meta({ description: 'Open letters.' }),
    quarantined: z.int(),
    firstFailedAt: instant,
    lastFailedAt: instant,
    lastRunId: wireId('run').meta({ description: 'The newest of them.' }),
  })
  .meta({ id: 'DeadLetterGroup' })

const aboutToWire = (each: DeadLetter | LetterGroup) => ({
  fingerprint: each.fingerprint,
  jobId: toWireIdOrNull('job', each.jobId),
  jobName: each.jobName,
  queue: each.queueName,
  status: each.status,
  error: each.error,
  httpStatus: each.httpStatus,
})

export const deadLetterToWire = (letter: DeadLetter): z.output<typeof deadLetterWire> => ({
  runId: toWireId('run', letter.runId),
  ...aboutToWire(letter),
  failures: letter.failures,
  isQuarantined: letter.isQuarantined,
  firstFailedAt: toInstant(letter.firstFailedAt),
  failedAt: toInstant(letter.failedAt),
  state: letter.state,
  handledAt: toInstantOrNull(letter.handledAt),
  handledBy: toActorOrNull(letter.handledBy),
  redrivenAs: toWireIdOrNull('run', letter.redrivenAs),
})

export const letterGroupToWire = (group: LetterGroup): z.output<typeof letterGroupWire> => ({
  ...aboutToWire(group),
  count: group.count,
  quarantined: group.quarantined,
  firstFailedAt: toInstant(group.firstFailedAt),
  lastFailedAt: toInstant(group.lastFailedAt),
  lastRunId: toWireId('run', group.lastRunId),
})
