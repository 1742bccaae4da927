import { and, arrayContains, eq, ilike, inArray, isNotNull, isNull, like, or, type SQL } from 'drizzle-orm'
import { z } from 'zod'
import type { Tx } from '../db/context.ts'
import { jobs, queues } from '../db/schema.ts'
import { isUuid } from '../kernel/ids.ts'
import { visibleJobs } from './internal.ts'
import { jobStates } from './job.ts'

const tagMax = 63
const queueMax = 64
const searchMax = 200

/** Which jobs: everything that is given has to be true of a job. */
export const jobFilterValue = z.strictObject({
  ids: z.array(z.string().refine(isUuid)).min(1).max(1_000).optional(),
  state: z.enum(jobStates).optional().meta({ description: 'Left out: active and paused ones.' }),
  search: z
    .string()
    .max(searchMax)
    .optional()
    .meta({ description: 'Part of the name in any case, or the start of the external id.' }),
  name: z.string().max(searchMax).optional().meta({ description: 'Part of the name, in any case.' }),
  tags: z.array(z.string().max(tagMax)).max(20).optional().meta({ description: 'Jobs that have all of them.' }),
  queue: z.string().max(queueMax).optional().meta({ description: 'Name of a queue.' }),
  externalIdPrefix: z.string().max(searchMax).optional().meta({ description: 'The start of the external id.' }),
})
export type JobFilter = z.output<typeof jobFilterValue>

// Postgres takes no NUL, and nothing it holds can have one.
const plain = (text: string): string => text.replaceAll('\0', '')
// Wildcards are letters here.
const literal = (text: string): string => plain(text).replace(/[\\%_]/g, '\\$&')

/** The condition of a filter over the project's jobs. */
export function matchingJobs(tx: Tx, filter: JobFilter): SQL | undefined {
  const { ids, state, search, name, tags, queue, externalIdPrefix } = filter
  const named = (text: string) => ilike(jobs.name, `%${literal(text)}%`)
  const externalStart = (text: string) => like(jobs.externalId, `${literal(text)}%`)
  return and(
    visibleJobs(tx),
    ids && inArray(jobs.id, ids),
    state === 'archived' ? isNotNull(jobs.archivedAt) : isNull(jobs.archivedAt),
    state === undefined || state === 'archived' ? undefined : eq(jobs.state, state),
    search ? or(named(search), externalStart(search)) : undefined,
    name ? named(name) : undefined,
    tags && tags.length > 0 ? arrayContains(jobs.tags, tags.map(plain)) : undefined,
    externalIdPrefix ? externalStart(externalIdPrefix) : undefined,
    queue ? inArray(jobs.queueId, queueOfName(tx, plain(queue))) : undefined,
  )
}

const queueOfName = (tx: Tx, name: string) =>
  tx.db
    .select({ id: queues.id })
    .from(queues)
    .where(and(eq(queues.tenantId, tx.tenantId), eq(queues.projectId, tx.projectId), eq(queues.name, name)))
