import { hashToken, isToken } from '../access/token.ts'
import { runNamed, toAppError } from '../db/client.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'

export const pingKinds = ['start', 'finish', 'fail'] as const
export type PingKind = (typeof pingKinds)[number]

/** What of a ping's body is kept. */
export const pingBodyMax = 4_096

/** Pings older than this go when the next one of their job comes. */
const keptDays = 40

export interface NewPing {
  kind: PingKind
  exitCode: number | null
  body: Buffer | null
}

/**
 * Notes a ping. A token that is none of ours is let pass in silence: nobody learns from the answer which ones exist.
 * Nobody is asked for a scope, and nothing is audited, since the token is all that a ping has; its event tells it.
 */
export async function recordPing(
  base: Pick<Ctx, 'pool' | 'keyRing' | 'clock' | 'requestId'>,
  token: string,
  { kind, exitCode, body }: NewPing,
): Promise<void> {
  const place = isToken('mp', token) ? await findPlace(base, token) : undefined
  if (place === undefined) return
  const [tenantId, projectId, jobId] = place
  const ctx: Ctx = { ...base, tenantId, projectId, actor: { type: 'system' }, scopes: new Set() }
  if (body !== null) await ctx.keyRing.load(tenantId)
  await withTx(ctx, async (tx) => {
    const id = uuidv7(tx.clock.nowMs())
    const sealed = body === null ? null : await tx.keyRing.seal(tenantId, id, body.subarray(0, pingBodyMax))
    await tx.client.query(
      `with old as (delete from pings where tenant_id = $1 and job_id = $2 and at < clock_timestamp() - $7 * interval '1 day')
       insert into pings (tenant_id, job_id, at, id, kind, exit_code, body)
       select $1, $2, date_trunc('milliseconds', clock_timestamp()), $3, $4, $5, $6
       where exists (select from jobs where tenant_id = $1 and id = $2 and state <> 'deleted')`,
      [tenantId, jobId, id, kind, exitCode, sealed, keptDays],
    )
    await append(tx, { type: 'job.pinged', subject: jobId, jobId, data: { kind, exitCode } })
  })
}

async function findPlace({ pool }: Pick<Ctx, 'pool'>, token: string): Promise<[Uuid, Uuid, Uuid] | undefined> {
  try {
    const rows = await runNamed<[Uuid, Uuid, Uuid]>(
      pool,
      'find_ping_url',
      'select tenant_id, project_id, job_id from find_ping_url($1)',
      [hashToken(token)],
    )
    return rows[0]
  } catch (error) {
    throw toAppError(error)
  }
}
