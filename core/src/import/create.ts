import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { archiveJob } from '../job/archive.ts'
import { pauseJob } from '../job/set-state.ts'
import { setModeOf } from '../job/shadow.ts'
import { upsertJob } from '../job/upsert.ts'
import { type FieldProblem, validationFailed } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { parseValue } from '../kernel/parse.ts'
import { getImport } from './get.ts'
import {
  type Counts,
  type Import,
  type ImportEntry,
  type NewImport,
  newImportValue,
  type PlannedImport,
  type VanishedJob,
} from './import.ts'
import { type Existing, type Plan, planImport, reduceEntry, toEntry } from './plan.ts'

export interface ImportOptions {
  /** Whether targets may lie at private addresses. */
  allowPrivate: boolean
}

const problemsMax = 50

/** What an import would do; nothing is written. Throws `validation-failed` only for what is not even a request. */
export async function planOnly(ctx: Ctx, input: NewImport, { allowPrivate }: ImportOptions): Promise<PlannedImport> {
  requireScope(ctx, 'jobs:write')
  const parsed = parseValue(newImportValue, input)
  const plan = planImport(parsed, { nowMs: ctx.clock.nowMs(), allowPrivate })
  const { existing, vanished } = await withRead(ctx, async (tx) => ({
    existing: await findExisting(tx, plan),
    vanished: await findVanished(tx, parsed, plan),
  }))
  const entries = plan.proposals.map((proposal) =>
    toEntry(proposal, { jobId: existing.get(proposal.externalId) ?? null, outcome: null }),
  )
  const { format, prefix, notes, problems } = plan
  return {
    format,
    prefix,
    fileName: parsed.fileName ?? null,
    timezone: parsed.timezone,
    entries,
    vanished,
    notes,
    problems,
  }
}

/**
 * Makes the jobs of a source, or makes the jobs of an earlier import be what the source says now, all in one
 * transaction. Jobs that the source does not name any more are told, and paused or archived only when that is asked. Entries that can't become a job are left out and named in the answer. Throws `validation-failed` with the
 * lines when it holds nothing that can become a job.
 */
export async function createImport(ctx: Ctx, input: NewImport, { allowPrivate }: ImportOptions): Promise<Import> {
  requireScope(ctx, 'jobs:write')
  const parsed = parseValue(newImportValue, input)
  const plan = planImport(parsed, { nowMs: ctx.clock.nowMs(), allowPrivate })
  requireSome(plan)
  await ctx.keyRing.load(ctx.tenantId)
  return withTx(ctx, async (tx) => {
    const id = uuidv7(tx.clock.nowMs())
    const entries = await writeJobs(tx, plan)
    const created = entries.filter(({ outcome }) => outcome === 'created')
    if (parsed.mode === 'shadow') await setModeOf(tx, jobIdsOf(created), 'shadow')
    for (const { jobId, isPaused } of created)
      if (jobId !== null && isPaused) await pauseJob(tx, jobId, 'It was switched off where it was imported from.')
    const counts = countOf(entries)
    const vanished = await findVanished(tx, parsed, plan)
    for (const { jobId, outcome } of vanished) {
      if (outcome === 'paused') await pauseJob(tx, jobId, 'It is not in the source any more that it was imported from.')
      if (outcome === 'archived') await archiveJob(tx, jobId)
    }
    await writeImport(tx, { id, parsed, plan, entries, counts, vanished })
    const data = { format: plan.format, prefix: plan.prefix, mode: parsed.mode, ...counts, vanished: vanished.length }
    await append(tx, { type: 'import.created', subject: id, data })
    await audit(tx, 'import.create', { subject: id, data })
    return getImport(tx, id)
  })
}

const jobIdsOf = (entries: readonly ImportEntry[]): Uuid[] => entries.flatMap(({ jobId }) => jobId ?? [])

function requireSome({ proposals, problems }: Plan): void {
  if (proposals.some(({ status }) => status === 'ready')) return
  const errors: FieldProblem[] = problems.map(({ line, detail }) => ({
    pointer: '/source',
    detail: `Line ${line}: ${detail}`,
  }))
  for (const { line, status, problems: own } of proposals) {
    if (status === 'needs-target')
      errors.push({ pointer: '/target', detail: `Line ${line}: a command needs a target.` })
    for (const { detail } of own) errors.push({ pointer: '/source', detail: `Line ${line}: ${detail}` })
  }
  if (errors.length === 0) errors.push({ pointer: '/source', detail: 'It holds no schedule.' })
  throw validationFailed(errors.slice(0, problemsMax), 'There is nothing in it that can become a job.')
}

async function findExisting(tx: Tx, { proposals }: Plan): Promise<Existing> {
  const { rows } = await tx.client.query<{ external_id: string; id: Uuid }>(
    `select external_id, id from jobs where tenant_id = $1 and project_id = $2 and external_id = any($3::text[])
       and state <> 'deleted'`,
    [tx.tenantId, tx.projectId, proposals.map(({ externalId }) => externalId)],
  )
  return new Map(rows.map((row) => [row.external_id, row.id]))
}

/** Jobs that an earlier import of the same source made, and that are in it no more: those that are still about. */
async function findVanished(
  tx: Tx,
  { fileName, vanished }: Parsed,
  { format, prefix, proposals }: Plan,
): Promise<VanishedJob[]> {
  const outcome = ({ keep: 'kept', pause: 'paused', archive: 'archived' } as const)[vanished]
  const { rows } = await tx.client.query<{ id: Uuid; name: string; external_id: string }>(
    `select j.id, j.name, j.external_id from jobs j
     where j.tenant_id = $1 and j.project_id = $2 and j.state <> 'deleted' and j.archived_at is null
       and starts_with(j.external_id, $4) and j.external_id <> all($6::text[])
       and exists (
         select from import_entries e join imports i on i.tenant_id = e.tenant_id and i.id = e.import_id
         where e.tenant_id = $1 and e.job_id = j.id and i.project_id = $2 and i.format = $3 and i.prefix = $4
           and i.file_name is not distinct from $5)
     order by j.external_id`,
    [tx.tenantId, tx.projectId, format, prefix, fileName ?? null, proposals.map(({ externalId }) => externalId)],
  )
  return rows.map(({ id, name, external_id: externalId }) => ({ jobId: id, name, externalId, outcome }))
}

async function writeJobs(tx: Tx, { proposals }: Plan): Promise<ImportEntry[]> {
  const entries: ImportEntry[] = []
  // In the order of their names, so that two imports of one file wait for each other instead of locking each other out.
  const order = [...proposals.keys()].sort((a, b) =>
    (proposals[a]?.externalId ?? '') < (proposals[b]?.externalId ?? '') ? -1 : 1,
  )
  for (const index of order) {
    const proposal = proposals[index]
    if (proposal === undefined) continue
    if (proposal.job === null) {
      const needsTarget = { pointer: '/target', detail: 'A command needs a target.' }
      const problems = proposal.status === 'needs-target' ? [needsTarget] : proposal.problems
      entries[index] = toEntry({ ...proposal, problems }, { jobId: null, outcome: 'refused' })
      continue
    }
    const { externalId: _, ...definition } = proposal.job
    const { job, outcome } = await upsertJob(tx, proposal.externalId, definition)
    entries[index] = toEntry(proposal, { jobId: job.id, outcome })
  }
  return entries
}

const countOf = (entries: readonly ImportEntry[]): Counts => {
  const counts: Counts = { created: 0, updated: 0, unchanged: 0, refused: 0 }
  for (const { outcome } of entries) if (outcome !== null) counts[outcome]++
  return counts
}

type Parsed = ReturnType<typeof newImportValue.parse>

interface Written {
  id: Uuid
  parsed: Parsed
  plan: Plan
  entries: ImportEntry[]
  counts: Counts
  vanished: VanishedJob[]
}

async function writeImport(tx: Tx, { id, parsed, plan, entries, counts, vanished }: Written): Promise<void> {
  const secret = {
    source: parsed.source,
    target: parsed.target,
    notes: plan.notes,
    entries: entries.map(({ text, command, request }) => ({ text, command, request })),
  }
  await tx.client.query(
    `insert into imports (tenant_id, id, project_id, format, prefix, file_name, timezone, created, updated, unchanged, refused,
       sealed, created_by, vanished)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [
      tx.tenantId,
      id,
      tx.projectId,
      plan.format,
      plan.prefix,
      parsed.fileName ?? null,
      parsed.timezone,
      counts.created,
      counts.updated,
      counts.unchanged,
      counts.refused,
      await tx.keyRing.seal(tx.tenantId, id, Buffer.from(JSON.stringify(secret))),
      actorText(tx.actor),
      JSON.stringify(vanished),
    ],
  )
  const open = entries.map((entry) => {
    const { jobId: _, outcome: __, ...shown } = reduceEntry(entry)
    return JSON.stringify(shown)
  })
  await tx.client.query(
    `insert into import_entries (tenant_id, import_id, position, outcome, job_id, proposal)
     select $1, $2, u.* from unnest($3::int[], $4::text[], $5::uuid[], $6::jsonb[]) u`,
    [
      tx.tenantId,
      id,
      entries.map((_, index) => index),
      entries.map(({ outcome }) => outcome),
      entries.map(({ jobId }) => jobId),
      open,
    ],
  )
}
