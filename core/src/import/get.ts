import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import type { SourceNote } from './entry.ts'
import type { Import, ImportEntry, ImportSummary } from './import.ts'

interface ImportRow {
  id: Uuid
  format: ImportSummary['format']
  prefix: string
  file_name: string | null
  timezone: string
  created: number
  updated: number
  unchanged: number
  refused: number
  created_by: string
  created_at: Date
  vanished: ImportSummary['vanished']
}

const columns =
  'id, format, prefix, file_name, timezone, created, updated, unchanged, refused, created_by, created_at, vanished'

const toSummary = ({
  file_name: fileName,
  created_by: createdBy,
  created_at: createdAt,
  ...row
}: ImportRow): ImportSummary => ({
  ...row,
  fileName,
  createdBy,
  createdAt,
})

/** The project's imports, newest first. */
export async function listImports(ctx: Ctx, page: PageRequest): Promise<Page<ImportSummary>> {
  requireScope(ctx, 'jobs:read')
  const cursor = page.cursor === undefined ? null : decodeCursor(page.cursor)
  const { rows } = await withRead(ctx, (tx) =>
    tx.client.query<ImportRow>(
      `select ${columns} from imports where tenant_id = $1 and project_id = $2 and ($3::uuid is null or id < $3)
       order by id desc limit $4`,
      [tx.tenantId, tx.projectId, cursor, page.limit + 1],
    ),
  )
  return toPage(rows.map(toSummary), page.limit)
}

interface Secret {
  notes: SourceNote[]
  entries: Pick<ImportEntry, 'text' | 'command' | 'request'>[]
}

/** One import as it was made; commands and lines only for those with `payloads:read`. Throws `not-found`. */
export async function getImport(ctx: Ctx, id: Uuid): Promise<Import> {
  requireScope(ctx, 'jobs:read')
  const { row, entries } = await withRead(ctx, async (tx) => ({
    row: await readImport(tx, id),
    entries: await tx.client.query<{
      outcome: ImportEntry['outcome']
      job_id: Uuid | null
      proposal: Omit<ImportEntry, 'jobId' | 'outcome'>
    }>(
      'select outcome, job_id, proposal from import_entries where tenant_id = $1 and import_id = $2 order by position',
      [tx.tenantId, id],
    ),
  }))
  const { sealed, ...rest } = row
  const secret = JSON.parse((await ctx.keyRing.open(ctx.tenantId, id, sealed)).toString()) as Secret
  const maySee = ctx.scopes.has('payloads:read')
  return {
    ...toSummary(rest),
    notes: secret.notes.map((note) => (maySee ? note : { ...note, text: null })),
    entries: entries.rows.map(({ outcome, job_id: jobId, proposal }, index) => ({
      ...proposal,
      ...(maySee ? secret.entries[index] : {}),
      jobId,
      outcome,
    })),
  }
}

async function readImport(tx: Tx, id: Uuid): Promise<ImportRow & { sealed: Buffer }> {
  const { rows } = await tx.client.query<ImportRow & { sealed: Buffer }>(
    `select ${columns}, sealed from imports where tenant_id = $1 and project_id = $2 and id = $3`,
    [tx.tenantId, tx.projectId, id],
  )
  if (rows[0] === undefined) throw notFound('import')
  return rows[0]
}

/** A job that an import made or changed, as it is now. */
export interface ImportedJob {
  id: Uuid
  name: string
  mode: 'live' | 'shadow'
  line: number
}

/** The jobs of an import that are still there, in the order of its lines. Throws `not-found`. Needs the scope checked. */
export async function readImportedJobs(tx: Tx, id: Uuid): Promise<ImportedJob[]> {
  await readImport(tx, id)
  const { rows } = await tx.client.query<{ id: Uuid; name: string; shadow: boolean; line: number }>(
    `select j.id, j.name, j.shadow, (e.proposal->>'line')::int as line from import_entries e
     join jobs j on j.tenant_id = e.tenant_id and j.id = e.job_id
     where e.tenant_id = $1 and e.import_id = $2 and j.project_id = $3 and j.state <> 'deleted' order by e.position`,
    [tx.tenantId, id, tx.projectId],
  )
  return rows.map(({ shadow, ...job }) => ({ ...job, mode: shadow ? 'shadow' : 'live' }))
}
