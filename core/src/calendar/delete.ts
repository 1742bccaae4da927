import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { calendars } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { AppError } from '../kernel/errors.ts'
import { requireVersion } from '../kernel/version.ts'
import { lockCalendar, ofName } from './calendar.ts'
import { jobsUsing, toUse } from './users.ts'

/**
 * Deletes a calendar with its versions. Throws `conflict`, with the jobs, while schedules use it, `not-found`, and
 * `precondition-failed` when it is not at `expectedVersion`.
 */
export async function deleteCalendar(
  ctx: Ctx,
  name: string,
  { expectedVersion }: { expectedVersion?: number | undefined } = {},
): Promise<void> {
  requireScope(ctx, 'calendars:write')
  await withTx(ctx, async (tx) => {
    const { id, version } = await lockCalendar(tx, name)
    requireVersion('calendar', version, expectedVersion)
    const users = await jobsUsing(tx, name)
    if (users.length > 0) {
      const use = toUse(tx, users)
      throw new AppError('conflict', `The calendar ${name} is used by ${use.count} jobs.`, { current: { ...use } })
    }
    await tx.db.delete(calendars).where(ofName(tx, name))
    await append(tx, { type: 'calendar.deleted', subject: id, data: { name } })
    await audit(tx, 'calendar.delete', { subject: id, data: { name, version } })
  })
}
