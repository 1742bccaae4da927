import { and, desc, eq, lt, sql } from 'drizzle-orm'
import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { jobVersions } from '../db/schema.ts'
import { notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { decodeVersion, encodeVersion, type Page, type PageRequest } from '../kernel/page.ts'
import { readJob } from './internal.ts'
import type { JobVersion, JobVersionSummary } from './job.ts'
import { openOf, type StoredDefinition, seeTarget } from './sealed-target.ts'

const versionColumns = {
  version: jobVersions.version,
  open: sql<StoredDefinition['open']>`${jobVersions.definition}`,
  restoredFrom: jobVersions.restoredFrom,
  createdBy: jobVersions.createdBy,
  createdAt: jobVersions.createdAt,
  // What its schedule was last computed with.
  tzVersion: sql<string | null>`(select s.tz_version from schedule_spans s where s.tenant_id = ${jobVersions.tenantId}
    and s.job_id = ${jobVersions.jobId} and s.job_version = ${jobVersions.version} order by s.from_at desc limit 1)`,
}

type VersionRow = Omit<JobVersionSummary, 'definition'> & { open: StoredDefinition['open'] }

function toVersion({ open, ...row }: VersionRow): JobVersionSummary {
  return { ...row, definition: openOf(open) }
}

/** All versions of a job, newest first, without their targets. Throws `not-found`. */
export async function listJobVersions(ctx: Ctx, id: Uuid, page: PageRequest): Promise<Page<JobVersionSummary>> {
  requireScope(ctx, 'jobs:read')
  return withRead(ctx, async (tx) => {
    await readJob(tx, id)
    const rows = await tx.db
      .select(versionColumns)
      .from(jobVersions)
      .where(
        and(
          eq(jobVersions.tenantId, tx.tenantId),
          eq(jobVersions.jobId, id),
          page.cursor === undefined ? undefined : lt(jobVersions.version, decodeVersion(page.cursor)),
        ),
      )
      .orderBy(desc(jobVersions.version))
      .limit(page.limit + 1)
    const items = rows.slice(0, page.limit).map(toVersion)
    const last = items.at(-1)
    return { items, nextCursor: rows.length > page.limit && last ? encodeVersion(last.version) : null }
  })
}

/** One version of a job, with its target as far as the caller may see it. Throws `not-found`. */
export async function getJobVersion(ctx: Ctx, id: Uuid, version: number): Promise<JobVersion> {
  requireScope(ctx, 'jobs:read')
  const { sealed, ...row } = await withRead(ctx, async (tx) => {
    await readJob(tx, id)
    return readVersion(tx, id, version)
  })
  return { ...toVersion(row), ...(await seeTarget(ctx, id, row.open, sealed)) }
}

/** A version of a job that the caller is known to see. */
export async function readVersion(tx: Tx, id: Uuid, version: number): Promise<VersionRow & { sealed: Buffer }> {
  const [row] = await tx.db
    .select({ ...versionColumns, sealed: jobVersions.target })
    .from(jobVersions)
    .where(and(eq(jobVersions.tenantId, tx.tenantId), eq(jobVersions.jobId, id), eq(jobVersions.version, version)))
  if (row === undefined) throw notFound('version of the job')
  return row
}
