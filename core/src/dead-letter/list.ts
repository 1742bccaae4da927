import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { decodeCursor, encodeCursor, type Page, type PageRequest } from '../kernel/page.ts'
import { type DeadLetter, failuresMax, type LetterFilter, type LetterGroup, type LetterState } from './dead-letter.ts'
import { matchingLetters, readLetter, selectLetters } from './rows.ts'

/** The project's letters in a state, those of the newest runs first. */
export const listDeadLetters = (
  ctx: Ctx,
  { state, ...filter }: LetterFilter & { state: LetterState },
  page: PageRequest,
): Promise<Page<DeadLetter>> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const before = page.cursor === undefined ? undefined : decodeCursor(page.cursor)
    const letters = await selectLetters(tx, matchingLetters(tx, filter, state), { before, limit: page.limit + 1 })
    const items = letters.slice(0, page.limit)
    const last = items.at(-1)
    return { items, nextCursor: letters.length > page.limit && last ? encodeCursor(last.runId) : null }
  })
}

/** The letter of a run, handled or not. Throws `not-found`. */
export const getDeadLetter = (ctx: Ctx, runId: Uuid): Promise<DeadLetter> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, (tx) => readLetter(tx, runId))
}

/** The most groups that are told. */
const groupsMax = 200

type GroupRow = [
  fingerprint: Uuid,
  jobId: Uuid | null,
  jobName: string | null,
  queueName: string | null,
  state: number,
  error: string,
  httpStatus: number | null,
  count: number,
  quarantined: number,
  firstFailedAt: Date,
  lastFailedAt: Date,
  lastRunId: Uuid,
]

/** The project's open letters by what they failed of: up to 200 groups, the latest first. */
export const groupDeadLetters = (ctx: Ctx): Promise<LetterGroup[]> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const rows = await runNamed<GroupRow>(
      tx.client,
      'group_dead_letters',
      `with g as (
         select fingerprint, count(*)::int as count, count(*) filter (where failures > ${failuresMax})::int as quarantined,
           min(first_failed_at) as first_failed_at, max(failed_at) as last_failed_at, (array_agg(run_id order by failed_at desc, run_id desc))[1] as last
         from dead_letters where tenant_id = $1 and project_id = $2 and handled_at is null
         group by fingerprint order by max(failed_at) desc limit ${groupsMax})
       select g.fingerprint, l.job_id, j.name, q.name, l.state, l.error, l.http_status, g.count, g.quarantined, g.first_failed_at,
         g.last_failed_at, g.last
       from g join dead_letters l on l.tenant_id = $1 and l.run_id = g.last
       left join jobs j on j.tenant_id = $1 and j.id = l.job_id
       left join queues q on q.tenant_id = $1 and q.id = l.queue_id
       order by g.last_failed_at desc`,
      [tx.tenantId, tx.projectId],
    )
    return rows.map((row): LetterGroup => {
      const [fingerprint, jobId, jobName, queueName, state, error, httpStatus] = row
      const [, , , , , , , count, quarantined, firstFailedAt, lastFailedAt, lastRunId] = row
      return {
        ...{
          fingerprint,
          jobId,
          jobName,
          error,
          httpStatus,
          count,
          quarantined,
          firstFailedAt,
          lastFailedAt,
          lastRunId,
        },
        queueName: queueName ?? '',
        status: state === 7 ? 'expired' : 'failed',
      }
    })
  })
}
