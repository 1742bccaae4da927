import { z } from 'zod'
import type { Tx } from '../db/context.ts'
import { type DeadLetter, letterFilterValue } from '../dead-letter/dead-letter.ts'
import { discardLetter, redriveLetter, reopenLetter } from '../dead-letter/handle.ts'
import { matchingLetters, readLetter, selectLetters } from '../dead-letter/rows.ts'
import { durationMs, durationValue } from '../kernel/duration.ts'
import { AppError } from '../kernel/errors.ts'
import { cancelRun } from '../run/cancel.ts'
import { readRun } from '../run/get.ts'
import { type Item, type OperationKind, type Outcome, ofThings } from './kind.ts'

export const redriveFields = {
  filter: letterFilterValue,
  delay: durationValue('PT1S', 'PT168H')
    .nullable()
    .default(null)
    .meta({ description: 'How long after it is redriven each is due. null: at once.' }),
  evenQuarantined: z
    .boolean()
    .default(false)
    .meta({ description: 'Also those that have come to the same end more than 5 times.' }),
}
const redrivePlan = z.strictObject(redriveFields)
const discardPlan = z.strictObject({ filter: letterFilterValue })

type Handled = Pick<DeadLetter, 'state' | 'redrivenAs'>

async function select(tx: Tx, filter: z.output<typeof letterFilterValue>, limit: number): Promise<Item[]> {
  const letters = await selectLetters(tx, matchingLetters(tx, filter, 'open'), { limit })
  // The oldest first, as they failed.
  return letters
    .reverse()
    .map(({ runId, jobName, queueName, error }) => ({ id: runId, name: `${jobName ?? queueName}: ${error}` }))
}

/** What somebody else has handled meanwhile is none of ours. */
async function unlessHandled(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid-transition') throw error
    return { state: 'unchanged', detail: 'It was handled already.' }
  }
}

/** Redrives the open dead letters of a filter. Its undo cancels the runs that have not begun, and opens their letters again. */
export const redriveLetters: OperationKind<z.output<typeof redrivePlan>> = {
  scope: 'runs:write',
  things: 'runs',
  plan: redrivePlan,
  select: (tx, { filter, evenQuarantined }, limit) =>
    select(tx, evenQuarantined ? filter : { ...filter, isQuarantined: filter.isQuarantined ?? false }, limit),
  apply: ofThings((tx, { delay, evenQuarantined }, { id }) =>
    unlessHandled(async () => {
      const { run, row } = await redriveLetter(tx, id, { delayMs: durationMs(delay ?? '') ?? 0, evenQuarantined })
      const handled: Handled = { state: 'redriven', redrivenAs: run.id }
      return { state: 'done', before: handled, wakes: row.pool }
    }),
  ),
  undo: ofThings(async (tx, _plan, { id, data }) => {
    const handled = data as Handled
    const { status } = await readRun(tx, handled.redrivenAs ?? id)
    if (status !== 'scheduled' && status !== 'ready') return { state: 'unchanged', detail: 'It has begun already.' }
    await cancelRun(tx, handled.redrivenAs ?? id)
    await reopenLetter(tx, id, handled)
    return { state: 'done' }
  }),
}

/** Discards the open dead letters of a filter. Its undo opens them again. */
export const discardLetters: OperationKind<z.output<typeof discardPlan>> = {
  scope: 'runs:write',
  things: 'runs',
  plan: discardPlan,
  select: (tx, { filter }, limit) => select(tx, filter, limit),
  apply: ofThings((tx, _plan, { id }) =>
    unlessHandled(async () => {
      await discardLetter(tx, id)
      return { state: 'done', before: { state: 'discarded', redrivenAs: null } satisfies Handled }
    }),
  ),
  undo: ofThings(async (tx, _plan, { id, data }) => {
    if ((await readLetter(tx, id)).state === 'open') return { state: 'unchanged', detail: 'It was opened already.' }
    await reopenLetter(tx, id, data as Handled)
    return { state: 'done' }
  }),
}
