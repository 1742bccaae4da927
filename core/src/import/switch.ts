import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import type { JobMode } from '../job/job.ts'
import { setModeOf } from '../job/shadow.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type ImportedJob, readImportedJobs } from './get.ts'

/**
 * Lets all jobs of an import run from now on, or puts all of them back into shadow: at one instant, all or none. Those
 * that have the mode already are left alone. Throws `not-found`.
 */
export async function switchImport(
  ctx: Ctx,
  id: Uuid,
  mode: JobMode,
): Promise<{ changed: number; jobs: ImportedJob[] }> {
  requireScope(ctx, 'jobs:write')
  return withTx(ctx, async (tx) => {
    const before = await readImportedJobs(tx, id)
    const changed = await setModeOf(
      tx,
      before.map((job) => job.id),
      mode,
    )
    if (changed > 0) {
      await append(tx, { type: 'import.switched', subject: id, data: { mode, changed } })
      await audit(tx, 'import.switch', { subject: id, data: { mode, changed } })
    }
    return { changed, jobs: await readImportedJobs(tx, id) }
  })
}
