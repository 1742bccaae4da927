import { and, arrayContains, desc, eq, ilike, inArray, like, lt, or } from 'drizzle-orm'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { jobs, queues } from '../db/schema.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { selectJobs, toSummary, visibleJobs } from './internal.ts'
import type { JobState, JobSummary } from './job.ts'

export interface JobFilter {
  state?: JobState | undefined
  /** Part of the name in any case, or the start of the external id. */
  search?: string | undefined
  tag?: string | undefined
  /** Name of a queue. */
  queue?: string | undefined
}

// Postgres takes no NUL, and nothing it holds can have one.
const plain = (text: string): string => text.replaceAll('\0', '')
// Wildcards are letters here.
const literal = (text: string): string => plain(text).replace(/[\\%_]/g, '\\$&')

/** The project's jobs, newest first, without their targets. */
export async function listJobs(ctx: Ctx, filter: JobFilter, page: PageRequest): Promise<Page<JobSummary>> {
  requireScope(ctx, 'jobs:read')
  const { state, search, tag, queue } = filter
  const rows = await withRead(ctx, (tx) =>
    selectJobs(tx)
      .where(
        and(
          visibleJobs(tx),
          state && eq(jobs.state, state),
          search
            ? or(ilike(jobs.name, `%${literal(search)}%`), like(jobs.externalId, `${literal(search)}%`))
            : undefined,
          tag ? arrayContains(jobs.tags, [plain(tag)]) : undefined,
          queue
            ? inArray(
                jobs.queueId,
                tx.db
                  .select({ id: queues.id })
                  .from(queues)
                  .where(
                    and(
                      eq(queues.tenantId, tx.tenantId),
                      eq(queues.projectId, tx.projectId),
                      eq(queues.name, plain(queue)),
                    ),
                  ),
              )
            : undefined,
          page.cursor === undefined ? undefined : lt(jobs.id, decodeCursor(page.cursor)),
        ),
      )
      .orderBy(desc(jobs.id))
      .limit(page.limit + 1),
  )
  return toPage(rows.map(toSummary), page.limit)
}
