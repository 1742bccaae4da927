import { and, asc, eq, gt, isNull, or, sql } from 'drizzle-orm'
import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import { flowLimits, gates, jobs, queues } from '../db/schema.ts'
import { append } from '../event/append.ts'
import type { EventType } from '../event/event.ts'
import { AppError, notFound, validationFailed } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { requireVersion } from '../kernel/version.ts'
import { forgetLimits } from './lanes.ts'
import { type Limit, type LimitScope, type LimitSettings, type NewLimit, settingColumns, toLimit } from './limit.ts'

const limitCountMax = 200

type Changes = { [Key in keyof LimitSettings]?: LimitSettings[Key] | undefined } & {
  expectedVersion?: number | undefined
}

/**
 * Sets a limit. One that holds as a whole for a queue, a project or the organisation holds for what waits already; one by
 * key, cost, job or host for runs that are accepted from now on (other processes know of it within five seconds). Throws
 * `validation-failed` for a limit that limits nothing or names what is not there, `conflict` for a name that is taken,
 * `forbidden` when a key wants one of the organisation, `quota-exceeded` at 200.
 */
export async function createLimit(ctx: Ctx, input: NewLimit): Promise<Limit> {
  requireScope(ctx, 'queues:write')
  requireEffect(input)
  const projectId = input.scope.type === 'tenant' ? null : ctx.projectId
  requireReach(ctx, { projectId, pinnedAt: null })
  const made = await withTx(ctx, async (tx) => {
    const count = await tx.db.$count(flowLimits, eq(flowLimits.tenantId, tx.tenantId))
    if (count >= limitCountMax)
      throw new AppError('quota-exceeded', `An organisation has at most ${limitCountMax} limits.`)
    await requireThere(tx, input.scope)
    const id = uuidv7(tx.clock.nowMs())
    const [row] = await tx.db
      .insert(flowLimits)
      .values({
        ...{ tenantId: tx.tenantId, id, projectId, ...scopeColumns(input.scope), ...settingColumns(input) },
        ...{ keyExpression: input.key, costExpression: input.cost },
      })
      .onConflictDoNothing()
      .returning()
    if (row === undefined) throw new AppError('conflict', `There is a limit named ${input.name} already.`)
    // By a key, gates come with the values that runs have.
    if (input.key === null) await tx.db.insert(gates).values({ tenantId: tx.tenantId, id, limitId: id })
    return tell(tx, 'create', toLimit(row))
  })
  forgetLimits(ctx.tenantId)
  return made
}

/** The limits of the project and those of the organisation, oldest first. */
export async function listLimits(ctx: Ctx, page: PageRequest): Promise<Page<Limit>> {
  requireScope(ctx, 'queues:read')
  const after = page.cursor === undefined ? undefined : gt(flowLimits.id, decodeCursor(page.cursor))
  const rows = await withRead(ctx, (tx) =>
    tx.db
      .select()
      .from(flowLimits)
      .where(and(visible(tx), after))
      .orderBy(asc(flowLimits.id))
      .limit(page.limit + 1),
  )
  return toPage(rows.map(toLimit), page.limit)
}

/** One limit of the project or the organisation. Throws `not-found`. */
export async function getLimit(ctx: Ctx, id: Uuid): Promise<Limit> {
  requireScope(ctx, 'queues:read')
  return withRead(ctx, async (tx) => {
    const [row] = await tx.db
      .select()
      .from(flowLimits)
      .where(and(visible(tx), eq(flowLimits.id, id)))
    if (row === undefined) throw notFound('limit')
    return toLimit(row)
  })
}

/**
 * Changes what a limit allows, for whatever waits as well; what is left out stays, null lifts it. Throws as `createLimit`,
 * `precondition-failed`, and `forbidden` for one that an operator pinned.
 */
export async function updateLimit(ctx: Ctx, id: Uuid, { expectedVersion, ...changes }: Changes): Promise<Limit> {
  requireScope(ctx, 'queues:write')
  const after = await withTx(ctx, async (tx) => {
    const before = await lockLimit(tx, id)
    requireReach(tx, before)
    requireVersion('limit', before.version, expectedVersion)
    const settings = {
      name: changes.name ?? before.name,
      concurrency: changes.concurrency === undefined ? before.concurrency : changes.concurrency,
      rate: changes.rate === undefined ? before.rate : changes.rate,
      backlog: changes.backlog === undefined ? before.backlog : changes.backlog,
    }
    requireEffect({ ...before, ...settings })
    await requireNameFree(tx, before, settings.name)
    return tell(tx, 'update', await change(tx, before, settingColumns(settings)))
  })
  forgetLimits(ctx.tenantId)
  return after
}

/** Lifts a limit: what waited for it alone goes on. Throws as `updateLimit`. */
export async function deleteLimit(
  ctx: Ctx,
  id: Uuid,
  { expectedVersion }: { expectedVersion?: number | undefined } = {},
): Promise<void> {
  requireScope(ctx, 'queues:write')
  await withTx(ctx, async (tx) => {
    const before = await lockLimit(tx, id)
    requireReach(tx, before)
    requireVersion('limit', before.version, expectedVersion)
    await tx.db.delete(flowLimits).where(and(eq(flowLimits.tenantId, tx.tenantId), eq(flowLimits.id, id)))
    await tell(tx, 'delete', before)
  })
  forgetLimits(ctx.tenantId)
}

/**
 * Lets nothing through: runs that mind the limit wait, and those on their way go on. Pausing a paused one changes nothing,
 * not even the reason.
 */
export async function pauseLimit(ctx: Ctx, id: Uuid, reason: string | null): Promise<Limit> {
  requireScope(ctx, 'queues:write')
  return withTx(ctx, async (tx) => {
    const before = await lockLimit(tx, id)
    requireReach(tx, before)
    if (before.pausedAt !== null) return before
    const paused = { pausedAt: sql`clock_timestamp()`, pausedBy: actorText(tx.actor), pauseReason: reason }
    return tell(tx, 'pause', await change(tx, before, paused))
  })
}

/** Lets runs through again. Resuming one that is not paused changes nothing. */
export async function resumeLimit(ctx: Ctx, id: Uuid): Promise<Limit> {
  requireScope(ctx, 'queues:write')
  return withTx(ctx, async (tx) => {
    const before = await lockLimit(tx, id)
    requireReach(tx, before)
    if (before.pausedAt === null) return before
    return tell(tx, 'resume', await change(tx, before, { pausedAt: null, pausedBy: null, pauseReason: null }))
  })
}

/** Keeps a limit from being changed by anybody but an operator; `isPinned` false lets its tenant change it again. */
export async function pinLimit(ctx: Ctx, id: Uuid, isPinned: boolean): Promise<Limit> {
  requireScope(ctx, 'limits:pin')
  return withTx(ctx, async (tx) => {
    const before = await lockLimit(tx, id)
    if ((before.pinnedAt !== null) === isPinned) return before
    const pinned = isPinned
      ? { pinnedAt: sql`clock_timestamp()`, pinnedBy: actorText(tx.actor) }
      : { pinnedAt: null, pinnedBy: null }
    return tell(tx, isPinned ? 'pin' : 'unpin', await change(tx, before, pinned))
  })
}

const visible = (ctx: Ctx) =>
  and(eq(flowLimits.tenantId, ctx.tenantId), or(isNull(flowLimits.projectId), eq(flowLimits.projectId, ctx.projectId)))

async function lockLimit(tx: Tx, id: Uuid): Promise<Limit> {
  const [row] = await tx.db
    .select()
    .from(flowLimits)
    .where(and(visible(tx), eq(flowLimits.id, id)))
    .for('update')
  if (row === undefined) throw notFound('limit')
  return toLimit(row)
}

type Columns = Parameters<ReturnType<typeof updateOf>['set']>[0]
const updateOf = (tx: Tx) => tx.db.update(flowLimits)

async function change(tx: Tx, { id }: Limit, columns: Columns): Promise<Limit> {
  const [row] = await updateOf(tx)
    .set({ ...columns, version: sql`${flowLimits.version} + 1`, updatedAt: sql`clock_timestamp()` })
    .where(and(eq(flowLimits.tenantId, tx.tenantId), eq(flowLimits.id, id)))
    .returning()
  if (row === undefined) throw notFound('limit')
  return toLimit(row)
}

const scopeColumns = (scope: LimitScope) => ({
  scope: scope.type,
  queueId: scope.type === 'queue' ? scope.queueId : null,
  jobId: scope.type === 'job' ? scope.jobId : null,
  host: scope.type === 'host' ? scope.host : null,
})

function requireEffect({ concurrency, rate, backlog }: LimitSettings): void {
  if (concurrency !== null || rate !== null || backlog !== null) return
  throw validationFailed([{ pointer: '', detail: 'must have a concurrency, a rate or a backlog' }])
}

async function requireThere(tx: Tx, scope: LimitScope): Promise<void> {
  const own = (table: typeof queues | typeof jobs, id: Uuid) =>
    tx.db.$count(table, and(eq(table.tenantId, tx.tenantId), eq(table.projectId, tx.projectId), eq(table.id, id)))
  const isThere =
    scope.type === 'queue' ? await own(queues, scope.queueId) : scope.type === 'job' ? await own(jobs, scope.jobId) : 1
  if (isThere === 0) throw validationFailed([{ pointer: '/scope', detail: `There is no such ${scope.type}.` }])
}

async function requireNameFree(tx: Tx, { id, projectId }: Limit, name: string): Promise<void> {
  const [other] = await tx.db
    .select({ id: flowLimits.id })
    .from(flowLimits)
    .where(
      and(
        eq(flowLimits.tenantId, tx.tenantId),
        projectId === null ? isNull(flowLimits.projectId) : eq(flowLimits.projectId, projectId),
        eq(flowLimits.name, name),
      ),
    )
  if (other !== undefined && other.id !== id)
    throw new AppError('conflict', `There is a limit named ${name} already.`, { current: { id: other.id } })
}

function requireReach(ctx: Ctx, { projectId, pinnedAt }: Pick<Limit, 'projectId' | 'pinnedAt'>): void {
  if (ctx.scopes.has('limits:pin')) return
  if (pinnedAt !== null) throw new AppError('forbidden', 'An operator pinned this limit: only operators change it.')
  // A key was made for one project: it holds up no other.
  if (projectId === null && ctx.actor.type === 'key')
    throw new AppError('forbidden', 'Limits of the organisation are set by people, not by API keys.')
}

const told = {
  create: 'limit.created',
  update: 'limit.updated',
  delete: 'limit.deleted',
  pause: 'limit.paused',
  resume: 'limit.resumed',
  pin: 'limit.pinned',
  unpin: 'limit.unpinned',
} satisfies Record<string, EventType>

async function tell(tx: Tx, what: keyof typeof told, limit: Limit): Promise<Limit> {
  const { id, name, scope, key, cost, concurrency, rate, backlog, pauseReason } = limit
  const data = {
    name,
    scope,
    key,
    cost,
    concurrency,
    rate,
    backlog,
    ...(pauseReason === null ? {} : { reason: pauseReason }),
  }
  await append(tx, { type: told[what], subject: id, data: { name } })
  await audit(tx, `limit.${what}`, { subject: id, data })
  return limit
}
