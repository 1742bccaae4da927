import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import type { Run } from '../run/run.ts'
import { evidenceOf, type Reason } from './why.ts'

type HeldRow = [
  host: string,
  state: string | null,
  since: Date | null,
  by: string | null,
  reason: string | null,
  error: string | null,
  probeAt: Date | null,
  ahead: number,
]

const aheadMax = 10_000

/** Why a breaker holds a run. */
export async function heldReasons(tx: Tx, { id }: Run): Promise<Reason[]> {
  const rows = await runNamed<HeldRow>(
    tx.client,
    'why_held',
    `select w.host, b.state, b.opened_at, b.opened_by, b.reason, b.error, b.probe_at,
       (select count(*)::int from (select from breaker_waits x where x.tenant_id = w.tenant_id and x.host = w.host
         and (x.due_at, x.run_id) < (w.due_at, w.run_id) limit ${aheadMax}) one)
     from breaker_waits w left join breakers b on b.tenant_id = w.tenant_id and b.host = w.host
     where w.tenant_id = $1 and w.run_id = $2`,
    [tx.tenantId, id],
  )
  return rows.map(([host, state, since, by, reason, error, probeAt, ahead]): Reason => {
    const facts = evidenceOf({ host, since, by, reason, error, at: probeAt, ahead })
    const detail =
      state === 'draining'
        ? `${host} is back; what was held for it goes in order.`
        : by === null
          ? `The breaker of ${host} is open: it failed too often.`
          : `The breaker of ${host} was opened by hand.`
    return { code: 'breaker-open', detail, evidence: facts, expectedAt: null }
  })
}
