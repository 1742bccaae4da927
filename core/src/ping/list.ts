import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { requireJob } from '../job/shadow.ts'
import type { Uuid } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import type { PingKind } from './record.ts'

export interface Ping {
  id: Uuid
  at: Date
  kind: PingKind
  exitCode: number | null
  /** What was sent along; null without `payloads:read`. */
  body: string | null
}

interface PingRow {
  id: Uuid
  at: Date
  kind: PingKind
  exit_code: number | null
  body: Buffer | null
}

/** The pings of a job, newest first. Throws `not-found`. */
export async function listPings(ctx: Ctx, jobId: Uuid, page: PageRequest): Promise<Page<Ping>> {
  requireScope(ctx, 'jobs:read')
  const rows = await withRead(ctx, async (tx) => {
    await requireJob(tx, jobId)
    const found = await tx.client.query<PingRow>(
      `select id, at, kind, exit_code, body from pings where tenant_id = $1 and job_id = $2 and ($3::uuid is null or id < $3)
       order by id desc limit $4`,
      [tx.tenantId, jobId, page.cursor === undefined ? null : decodeCursor(page.cursor), page.limit + 1],
    )
    return found.rows
  })
  const maySee = ctx.scopes.has('payloads:read')
  const pings = await Promise.all(
    rows.map(async ({ id, at, kind, exit_code: exitCode, body }): Promise<Ping> => {
      const text = body === null || !maySee ? null : (await ctx.keyRing.open(ctx.tenantId, id, body)).toString()
      return { id, at, kind, exitCode, body: text }
    }),
  )
  return toPage(pings, page.limit)
}
