import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import type { Breaker, BreakerState } from './breaker.ts'

type BreakerRow = [
  id: Uuid,
  host: string,
  state: Exclude<BreakerState, 'half-open'>,
  since: Date,
  openedAt: Date,
  openedBy: string | null,
  reason: string | null,
  closedAt: Date | null,
  closedBy: string | null,
  failures: number,
  error: string | null,
  httpStatus: number | null,
  probesFailed: number,
  probeAt: Date | null,
  probeRun: Uuid | null,
  held: number,
]

const heldMax = 10_000

const select = (where: string): string => `
  select b.id, b.host, b.state, b.since, b.opened_at, b.opened_by, b.reason, b.closed_at, b.closed_by, b.failures, b.error,
    b.http_status, b.probes_failed, b.probe_at, b.probe_run,
    (select count(*)::int from (select from breaker_waits w join ready r on r.tenant_id = w.tenant_id and r.id = w.run_id and r.pool = -w.pool
      where w.tenant_id = b.tenant_id and w.host = b.host limit ${heldMax}) x)
  from breakers b where b.tenant_id = $1 and ${where}`

const toBreaker = (row: BreakerRow): Breaker => {
  const [id, host, state, since, openedAt, openedBy, reason, closedAt, closedBy, ...rest] = row
  const [failures, error, httpStatus, probesFailed, probeAt, probeRun, held] = rest
  return {
    ...{ id, host, since, openedAt, openedBy, reason, closedAt, closedBy, failures, error, httpStatus },
    ...{ probesFailed, probeAt, probeRun, held },
    state: probeRun === null ? state : 'half-open',
  }
}

/** The tenant's breakers, those of hosts that were known first first: all that are not closed, or also those that were. */
export const listBreakers = (ctx: Ctx, { all }: { all: boolean }, page: PageRequest): Promise<Page<Breaker>> => {
  requireScope(ctx, 'queues:read')
  return withRead(ctx, async (tx) => {
    const rows = await runNamed<BreakerRow>(
      tx.client,
      'list_breakers',
      `${select("($2 or b.state <> 'closed') and ($3::uuid is null or b.id > $3)")} order by b.id limit $4`,
      [tx.tenantId, all, page.cursor === undefined ? null : decodeCursor(page.cursor), page.limit + 1],
    )
    return toPage(rows.map(toBreaker), page.limit)
  })
}

/** One breaker of the tenant. Throws `not-found`. */
export const getBreaker = (ctx: Ctx, id: Uuid): Promise<Breaker> => {
  requireScope(ctx, 'queues:read')
  return withRead(ctx, (tx) => readBreaker(tx, id))
}

/** The same inside a transaction. */
export async function readBreaker(tx: Tx, id: Uuid): Promise<Breaker> {
  const rows = await runNamed<BreakerRow>(tx.client, 'get_breaker', select('b.id = $2'), [tx.tenantId, id])
  if (rows[0] === undefined) throw notFound('breaker')
  return toBreaker(rows[0])
}
