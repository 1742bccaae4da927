import { requireScope } from '../access/scope.ts'
import { arrayLiteral, isUnavailable, type Pool, runNamed } from '../db/client.ts'
import { type Ctx, withRead, withTx } from '../db/context.ts'
import { AppError } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { readRun } from './get.ts'
import { clockSlack } from './select.ts'

export const logLineLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLineLevel = (typeof logLineLevels)[number]

export interface RunLogLine {
  id: Uuid
  at: Date
  attempt: number
  level: LogLineLevel
  message: string
}

type LogRow = [Uuid, Date, number, LogLineLevel, Buffer]
const firstId = '00000000-0000-0000-0000-000000000000'

/** A run's log, oldest first. Needs `payloads:read`: a line may quote what was sent. */
export const listRunLogs = async (ctx: Ctx, runId: Uuid, page: PageRequest): Promise<Page<RunLogLine>> => {
  requireScope(ctx, 'payloads:read')
  await ctx.keyRing.load(ctx.tenantId)
  return withRead(ctx, async (tx) => {
    const run = await readRun(tx, runId)
    const rows = await runNamed<LogRow>(
      tx.client,
      'list_run_logs',
      `select id, at, attempt, level, message from run_logs
       where tenant_id = $1 and run_id = $2 and at >= $3::timestamptz - ${clockSlack} and id > $4 order by id limit $5`,
      [
        tx.tenantId,
        runId,
        run.createdAt,
        page.cursor === undefined ? firstId : decodeCursor(page.cursor),
        page.limit + 1,
      ],
    )
    const lines = await Promise.all(
      rows.map(async ([id, at, attempt, level, message]) => ({
        id,
        at,
        attempt,
        level,
        message: (await tx.keyRing.open(tx.tenantId, id, message)).toString(),
      })),
    )
    return toPage(lines, page.limit)
  })
}

export interface NewLogLine {
  level: LogLineLevel
  message: string
  attempt?: number | undefined
}

/** Adds lines to a run's log, from the target or its worker. Throws `not-found`. */
export const appendRunLog = async (ctx: Ctx, runId: Uuid, lines: NewLogLine[]): Promise<RunLogLine[]> => {
  requireScope(ctx, 'runs:write')
  await ctx.keyRing.load(ctx.tenantId)
  return withTx(ctx, async (tx) => {
    const run = await readRun(tx, runId)
    const written = lines.map((line) => ({
      id: uuidv7(ctx.clock.nowMs()),
      at: new Date(ctx.clock.nowMs()),
      attempt: line.attempt ?? run.attempt,
      level: line.level,
      message: line.message,
    }))
    for (const line of written) {
      const sealed = await ctx.keyRing.seal(ctx.tenantId, line.id, Buffer.from(line.message))
      await tx.client.query(
        'insert into run_logs (tenant_id, run_id, at, id, attempt, level, message) values ($1, $2, $3, $4, $5, $6, $7)',
        [tx.tenantId, runId, line.at, line.id, line.attempt, line.level, sealed],
      )
    }
    return written
  })
}

/** A line that an executor writes about an attempt. */
export interface ExecutorLogLine {
  tenantId: Uuid
  runId: Uuid
  attempt: number
  atMs: number
  level: LogLineLevel
  message: string
}

/**
 * The executor's own lines: what went wrong with an attempt, in words. A line that can't be sealed, because its tenant's
 * keys were destroyed, is left out: it must not hold up the others.
 */
export async function writeExecutorLogs(pool: Pool, keyRing: KeyRing, lines: ExecutorLogLine[]): Promise<void> {
  const sealed = await Promise.all(
    lines.map(async (line) => {
      const id = uuidv7(line.atMs)
      try {
        return { ...line, id, bytes: await keyRing.seal(line.tenantId, id, Buffer.from(line.message)) }
      } catch (error) {
        if (isUnavailable(error) || error instanceof AppError) throw error
        return null
      }
    }),
  )
  const rows = sealed.filter((row) => row !== null)
  await runNamed(
    pool,
    'write_executor_logs',
    `insert into run_logs (tenant_id, run_id, at, id, attempt, level, message)
     select t, r, to_timestamp(a / 1000), i, n, l, decode(m, 'base64')
     from unnest($1::uuid[], $2::uuid[], $3::float8[], $4::uuid[], $5::smallint[], $6::text[], $7::text[]) u(t, r, a, i, n, l, m)`,
    [
      arrayLiteral(rows.map((row) => row.tenantId)),
      arrayLiteral(rows.map((row) => row.runId)),
      arrayLiteral(rows.map((row) => row.atMs)),
      arrayLiteral(rows.map((row) => row.id)),
      arrayLiteral(rows.map((row) => row.attempt)),
      arrayLiteral(rows.map((row) => row.level)),
      arrayLiteral(rows.map((row) => row.bytes.toString('base64'))),
    ],
  )
}
