import { type Ctx, withRead } from '../db/context.ts'
import { databaseNowMs } from '../job/internal.ts'
import { validationFailed } from '../kernel/errors.ts'

const dayMs = 86_400_000
const lengthMaxMs = 31 * dayMs

/**
 * From when until when the caller's project is looked ahead, by its own clock: until `until`, or for a day. Throws
 * `validation-failed` for what is past or more than 31 days away.
 */
export async function lookAhead(ctx: Ctx, until: Date | undefined): Promise<{ nowMs: number; untilMs: number }> {
  const nowMs = await withRead(ctx, databaseNowMs)
  const untilMs = until?.getTime() ?? nowMs + dayMs
  if (untilMs <= nowMs) throw validationFailed([{ pointer: '/until', detail: 'must be in the future' }])
  if (untilMs > nowMs + lengthMaxMs) throw validationFailed([{ pointer: '/until', detail: 'must be within 31 days' }])
  return { nowMs, untilMs }
}
