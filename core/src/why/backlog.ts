import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import type { JobRow } from '../job/internal.ts'
import type { Uuid } from '../kernel/ids.ts'
import { laneToCome } from '../run/job-lanes.ts'
import { evidenceOf, type Reason } from './why.ts'

type FullRow = [limitId: Uuid, name: string, key: string, most: number, used: number, rejects: boolean]

/** Which limits let no further run of a job wait at this moment. */
export async function backlogReasons(tx: Tx, { id, projectId, queueId, version, open }: JobRow): Promise<Reason[]> {
  const place = { tenantId: tx.tenantId, projectId, queueId, jobId: id, jobVersion: version, priority: open.priority }
  const lane = await laneToCome(tx, place)
  if (lane === undefined) return []
  const rows = await runNamed<FullRow>(
    tx.client,
    'why_backlogs',
    `select * from (
       select f.id, f.name, g.key, f.backlog_max, waiting_at($1, g.id, f.backlog_max) as used, f.when_full = 'reject'
       from gates g join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id and f.backlog_max is not null
       where g.tenant_id = $1 and g.id = any($2::uuid[])) b
     where used >= backlog_max order by id`,
    [tx.tenantId, lane.gates.map((gate) => gate.id)],
  )
  return rows.map(([limitId, name, key, limit, used, rejects]): Reason => {
    const whose = key === '' ? '' : ` for ${key}`
    const next = rejects ? 'the next one is refused' : 'the next one ends the oldest of them'
    return {
      code: 'backlog-full',
      detail: `As many runs wait${whose} as the limit ${name} lets wait, ${limit}: ${next}.`,
      evidence: evidenceOf({ limitId, name, key: key === '' ? null : key, limit, used }),
      expectedAt: null,
    }
  })
}
