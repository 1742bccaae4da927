import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { hashToken, newToken } from '../access/token.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { requireJob } from '../job/shadow.ts'
import type { Uuid } from '../kernel/ids.ts'

export interface PingUrl {
  jobId: Uuid
  /** What makes the URL a secret: whoever has it can say that the job ran. */
  token: string
  createdBy: string
  createdAt: Date
}

interface PingUrlRow {
  job_id: Uuid
  sealed: Buffer
  created_by: string
  created_at: Date
}

/**
 * The ping URL of a job, made when it has none; with `rotate` a new one, and the old one is dead. It is told again
 * whenever somebody asks who may change the job. Throws `not-found`.
 */
export async function openPingUrl(ctx: Ctx, jobId: Uuid, { rotate }: { rotate: boolean }): Promise<PingUrl> {
  requireScope(ctx, 'jobs:write')
  await ctx.keyRing.load(ctx.tenantId)
  return withTx(ctx, async (tx) => {
    await requireJob(tx, jobId)
    const urls = await openPingUrlsOf(tx, [jobId], rotate)
    const url = urls.get(jobId)
    if (url === undefined) throw new Error('a ping URL was neither there nor made')
    return url
  })
}

/** The same for many jobs of the project, all of which are there. Needs the scope checked, and the keys loaded. */
export async function openPingUrlsOf(tx: Tx, jobIds: readonly Uuid[], rotate: boolean): Promise<Map<Uuid, PingUrl>> {
  if (rotate) {
    await tx.client.query('delete from ping_urls where tenant_id = $1 and job_id = any($2::uuid[])', [
      tx.tenantId,
      jobIds,
    ])
  }
  const known = new Set((await readPingUrls(tx, jobIds)).keys())
  const missing = jobIds.filter((id) => !known.has(id))
  const made = await Promise.all(
    missing.map(async (id) => {
      const token = newToken('mp')
      return { id, hash: hashToken(token), sealed: await tx.keyRing.seal(tx.tenantId, id, Buffer.from(token)) }
    }),
  )
  if (made.length > 0) {
    await tx.client.query(
      `insert into ping_urls (tenant_id, job_id, project_id, token_hash, sealed, created_by)
       select $1, u.*, $5 from (select i, $2::uuid, h, s from unnest($3::uuid[], $4::bytea[], $6::bytea[]) x(i, h, s)) u
       on conflict do nothing`,
      [
        tx.tenantId,
        tx.projectId,
        made.map(({ id }) => id),
        made.map(({ hash }) => hash),
        actorText(tx.actor),
        made.map(({ sealed }) => sealed),
      ],
    )
    const subject = made.length === 1 ? made[0]?.id : undefined
    await audit(tx, rotate ? 'ping-url.rotate' : 'ping-url.create', {
      ...(subject === undefined ? {} : { subject }),
      data: { count: made.length },
    })
  }
  return readPingUrls(tx, jobIds)
}

/** The ping URLs that these jobs have. Needs the scope checked. */
export async function readPingUrls(tx: Tx, jobIds: readonly Uuid[]): Promise<Map<Uuid, PingUrl>> {
  const { rows } = await tx.client.query<PingUrlRow>(
    'select job_id, sealed, created_by, created_at from ping_urls where tenant_id = $1 and project_id = $2 and job_id = any($3::uuid[])',
    [tx.tenantId, tx.projectId, jobIds],
  )
  const urls = await Promise.all(
    rows.map(async ({ job_id: jobId, sealed, created_by: createdBy, created_at: createdAt }) => ({
      jobId,
      token: (await tx.keyRing.open(tx.tenantId, jobId, sealed)).toString(),
      createdBy,
      createdAt,
    })),
  )
  return new Map(urls.map((url) => [url.jobId, url]))
}
