import { z } from 'zod'
import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { AppError } from '../kernel/errors.ts'
import { isUuid, type Uuid } from '../kernel/ids.ts'
import { tagsValue } from '../kernel/tag.ts'
import { cancelRun } from '../run/cancel.ts'
import { hasTags } from '../run/run-filter.ts'
import { type Item, type OperationKind, ofThings } from './kind.ts'

const openStatuses = ['scheduled', 'ready', 'queued', 'running'] as const

/** Which open runs: everything that is given has to be true of a run. */
export const openRunFilterValue = z.strictObject({
  ids: z.array(z.string().refine(isUuid)).min(1).max(1_000).optional(),
  status: z.array(z.enum(openStatuses)).min(1).optional(),
  jobId: z.string().refine(isUuid).optional(),
  queue: z.string().max(64).optional().meta({ description: 'Name of a queue.' }),
  tags: tagsValue.min(1).optional().meta({ description: "All of these: its own, or its job's." }),
  dueFrom: z.coerce.date().optional(),
  dueTo: z.coerce.date().optional(),
})
type OpenRunFilter = z.output<typeof openRunFilterValue>

const cancelPlan = z.strictObject({ filter: openRunFilterValue })

async function selectRuns(tx: Tx, filter: OpenRunFilter, limit: number): Promise<Item[]> {
  const { ids, status, jobId, queue, tags, dueFrom, dueTo } = filter
  const rows = await runNamed<[Uuid, string]>(
    tx.client,
    'open_runs_of_filter',
    `select x.id, coalesce(j.name, q.name) from (
       select 'scheduled' as status, id, tenant_id, project_id, queue_id, job_id, due_at from due where tenant_id = $1
       union all select 'ready', id, tenant_id, project_id, queue_id, job_id, due_at from ready where tenant_id = $1
       union all select case state when 2 then 'queued' else 'running' end, id, tenant_id, project_id, queue_id, job_id, due_at
         from held where tenant_id = $1) x
     join queues q on q.tenant_id = x.tenant_id and q.id = x.queue_id
     left join jobs j on j.tenant_id = x.tenant_id and j.id = x.job_id
     where x.project_id = $2 and ($3::uuid[] is null or x.id = any($3)) and ($4::text[] is null or x.status = any($4))
       and ($5::uuid is null or x.job_id = $5) and ($6::text is null or q.name = $6)
       and ($7::timestamptz is null or x.due_at >= $7) and ($8::timestamptz is null or x.due_at < $8)
       and ($10::text[] is null or ${hasTags('x', '$10::text[]')})
     order by x.id limit $9`,
    [
      tx.tenantId,
      tx.projectId,
      ids ?? null,
      status ?? null,
      jobId ?? null,
      queue?.replaceAll('\0', '') ?? null,
      dueFrom ?? null,
      dueTo ?? null,
      limit,
      tags ?? null,
    ],
  )
  return rows.map(([id, name]) => ({ id, name }))
}

/**
 * Cancels the open runs of a filter. One that is being performed is told to stop when its executor next renews its
 * lease. What is cancelled stays so: there is no undo, but a run can be replayed.
 */
export const cancelRuns: OperationKind<z.output<typeof cancelPlan>> = {
  scope: 'runs:write',
  things: 'runs',
  plan: cancelPlan,
  select: (tx, { filter }, limit) => selectRuns(tx, filter, limit),
  apply: ofThings(async (tx, _plan, { id }) => {
    try {
      await cancelRun(tx, id)
      return { state: 'done' }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid-transition') throw error
      return { state: 'unchanged', detail: 'It had ended already.' }
    }
  }),
}
