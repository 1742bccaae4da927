import { and, desc, lt } from 'drizzle-orm'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { jobs } from '../db/schema.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { type JobFilter, matchingJobs } from './filter.ts'
import { selectJobs, toSummary } from './internal.ts'
import type { JobSummary } from './job.ts'

/** The project's jobs, newest first, without their targets. */
export async function listJobs(ctx: Ctx, filter: JobFilter, page: PageRequest): Promise<Page<JobSummary>> {
  requireScope(ctx, 'jobs:read')
  const after = page.cursor === undefined ? undefined : lt(jobs.id, decodeCursor(page.cursor))
  const rows = await withRead(ctx, (tx) =>
    selectJobs(tx)
      .where(and(matchingJobs(tx, filter), after))
      .orderBy(desc(jobs.id))
      .limit(page.limit + 1),
  )
  return toPage(rows.map(toSummary), page.limit)
}
