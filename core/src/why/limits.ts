import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { type LimitUsage, readGates } from '../flow/usage.ts'
import type { Uuid } from '../kernel/ids.ts'
import { evidenceOf, type Reason } from './why.ts'

type LimitRow = [
  gateId: Uuid,
  name: string,
  cost: number,
  rateMs: number | null,
  rateCount: number | null,
  pausedAt: Date | null,
  pausedBy: string | null,
  pauseReason: string | null,
  ahead: number,
  averageMs: number | null,
  nowMs: number,
]

const aheadMax = 10_000

/** Why a run that is due is not let through by the limits that it minds; empty: they all let it. */
export async function limitReasons(tx: Tx, runId: Uuid): Promise<Reason[]> {
  const rows = await runNamed<LimitRow>(
    tx.client,
    'why_limits',
    `select g.id, f.name, n.cost, f.rate_ms::float8, f.rate_count, f.paused_at, f.paused_by, f.pause_reason,
       (select count(*)::int from (select from ready w where w.tenant_id = $1 and w.lane = r.lane and w.pool > 0
         and (w.due_at + w.priority * priority_step(), w.id) < (r.due_at + r.priority * priority_step(), r.id) limit ${aheadMax}) one),
       (select avg(duration_ms)::float8 from (select queue_id, duration_ms from runs
         where tenant_id = $1 and project_id = r.project_id order by id desc limit 200) x where x.queue_id = r.queue_id),
       extract(epoch from clock_timestamp())::float8 * 1000
     from ready r cross join lateral gates_of($1, r.queue_id, r.lane) n
     join gates g on g.tenant_id = $1 and g.id = n.gate_id
     join flow_limits f on f.tenant_id = $1 and f.id = g.limit_id
     where r.tenant_id = $1 and r.project_id = $2 and r.id = $3 order by f.id`,
    [tx.tenantId, tx.projectId, runId],
  )
  if (rows.length === 0) return []
  const usages = new Map(
    (
      await readGates(
        tx,
        rows.map(([gateId]) => gateId),
      )
    ).map((usage) => [usage.id, usage]),
  )
  return rows.flatMap((row) => {
    const usage = usages.get(row[0])
    return usage === undefined ? [] : reasonsOf(row, usage)
  })
}

function reasonsOf(
  [, name, cost, rateMs, rateCount, pausedAt, by, reason, ahead, averageMs, nowMs]: LimitRow,
  { limitId, key, concurrency, used, holders, tokens, nextTokenAt }: LimitUsage,
): Reason[] {
  const whose = key === '' ? '' : ` for ${key}`
  const facts = { limitId, name, ...(key === '' ? {} : { key }) }
  const reasons: Reason[] = []
  if (pausedAt !== null) {
    const evidence = evidenceOf({ ...facts, by, reason, since: pausedAt })
    reasons.push({ code: 'limit-paused', detail: `The limit ${name} is paused.`, evidence, expectedAt: null })
  }
  if (concurrency !== null && used + cost > concurrency) {
    const runIds = holders.map(({ runId }) => runId)
    // At the pace of late: as many at once as the limit allows, each for as long as they took.
    const rounds = Math.ceil(((ahead + 1) * cost) / concurrency)
    reasons.push({
      code: 'limit-full',
      detail: `The limit ${name} is full${whose}: ${used} of ${concurrency} at once.`,
      evidence: { ...facts, limit: concurrency, used, ahead, runIds },
      expectedAt: averageMs === null ? null : new Date(nowMs + averageMs * rounds),
    })
  }
  if (tokens !== null && tokens < cost && rateMs !== null && rateCount !== null) {
    const perTokenMs = rateMs / rateCount
    const nextMs = nextTokenAt?.getTime() ?? nowMs
    // The first that is missing comes at the next instant, the others after it.
    const afterMs = (missing: number): Date => new Date(nextMs + Math.max(0, missing) * perTokenMs)
    const missing = cost - tokens - 1
    const until = afterMs(missing)
    reasons.push({
      code: 'limit-rate',
      detail: `The limit ${name} has let through as many${whose} as it may for now.`,
      evidence: { ...facts, limit: rateCount, ahead, until },
      expectedAt: afterMs(missing + ahead * cost),
    })
  }
  return reasons
}
