import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import type { Breaker } from './breaker.ts'
import { readBreaker } from './list.ts'

const breakersMax = 10_000

/**
 * Opens the breaker of a host by hand: its runs are held, and nothing is let go until it is closed by hand. One that is
 * open already is taken over. Throws `quota-exceeded` at 10,000 hosts.
 */
export async function openBreaker(
  ctx: Ctx,
  { host, reason }: { host: string; reason: string | null },
): Promise<Breaker> {
  requireScope(ctx, 'queues:write')
  return withTx(ctx, async (tx) => {
    const [[count] = [0]] = await runNamed<[number]>(
      tx.client,
      'count_breakers',
      'select count(*)::int from breakers where tenant_id = $1 and host <> $2',
      [tx.tenantId, host],
    )
    if (count >= breakersMax)
      throw new AppError('quota-exceeded', `An organisation has breakers for at most ${breakersMax} hosts.`)
    const rows = await runNamed<[Uuid]>(
      tx.client,
      'open_breaker',
      `insert into breakers as b (tenant_id, host, id, project_id, state, since, opened_at, opened_by, reason)
       select $1, $2, $3, $4, 'open', now, now, $5, $6 from clock_timestamp() now
       on conflict (tenant_id, host) do update set state = 'open', project_id = excluded.project_id, opened_by = excluded.opened_by,
         reason = excluded.reason, since = case when b.state = 'open' then b.since else excluded.since end,
         opened_at = case when b.state = 'closed' then excluded.opened_at else b.opened_at end, probes_failed = 0,
         closed_at = null, closed_by = null, probe_at = null, probe_run = null, passed_at = null, passed_id = null, paced_at = null
       returning id`,
      [tx.tenantId, host, uuidv7(tx.clock.nowMs()), tx.projectId, actorText(tx.actor), reason],
    )
    const id = rows[0]?.[0]
    if (id === undefined) throw notFound('breaker')
    await append(tx, { type: 'breaker.opened', subject: id, data: { host, reason } })
    await audit(tx, 'breaker.open', { subject: id, data: { host, reason } })
    return readBreaker(tx, id)
  })
}

/**
 * Closes a breaker by hand: what it holds goes in order, faster and faster, unless the host fails again. Closing one
 * that is closed or draining changes nothing. Throws `not-found`.
 */
export async function closeBreaker(ctx: Ctx, id: Uuid, reason: string | null): Promise<Breaker> {
  requireScope(ctx, 'queues:write')
  return withTx(ctx, async (tx) => {
    const [closed] = await letGo(tx, id)
    if (closed === undefined) return readBreaker(tx, id)
    await append(tx, { type: 'breaker.recovered', subject: id, data: { host: closed, reason } })
    await audit(tx, 'breaker.close', { subject: id, data: { host: closed, reason } })
    return readBreaker(tx, id)
  })
}

/** Lets what is held go, of one open breaker or of all of the tenant. Returns their hosts. */
export async function letGo(tx: Tx, id: Uuid | null): Promise<string[]> {
  const rows = await runNamed<[string]>(
    tx.client,
    'let_go',
    `update breakers b set state = 'draining', since = now, paced_at = now, closed_by = $3, probe_at = null, probe_run = null
     from clock_timestamp() now where b.tenant_id = $1 and ($2::uuid is null or b.id = $2) and b.state = 'open' returning b.host`,
    [tx.tenantId, id, actorText(tx.actor)],
  )
  return rows.map(([host]) => host)
}
