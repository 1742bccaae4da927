import { and, asc, eq, gt, isNull, or, sql } from 'drizzle-orm'
import { z } from 'zod'
import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import { blackouts } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { AppError, notFound, validationFailed } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { lineValue } from '../kernel/text.ts'
import { requireVersion } from '../kernel/version.ts'
import { decideAgain } from './decide-again.ts'

export const blackoutNameValue = lineValue(200)
export const blackoutRollValue = z
  .enum(['skip', 'next'])
  .meta({ description: 'What falls into it is skipped, or waits for its end.' })

/** A stretch of time in which no schedule of a project, or of the whole tenant, starts anything. */
export interface Blackout {
  id: Uuid
  /** Null: all projects. */
  projectId: Uuid | null
  name: string
  fromAt: Date
  /** Exclusive. */
  untilAt: Date
  roll: 'skip' | 'next'
  createdBy: string
  createdAt: Date
  updatedAt: Date
  version: number
}

export interface NewBlackout {
  name: string
  fromAt: Date
  untilAt: Date
  roll?: Blackout['roll'] | undefined
  /** For all projects of the tenant. */
  isForAll?: boolean | undefined
}

const columns = {
  id: blackouts.id,
  projectId: blackouts.projectId,
  name: blackouts.name,
  fromAt: blackouts.fromAt,
  untilAt: blackouts.untilAt,
  roll: blackouts.roll,
  createdBy: blackouts.createdBy,
  createdAt: blackouts.createdAt,
  updatedAt: blackouts.updatedAt,
  version: blackouts.version,
}

const openMax = 1_000
const lengthMaxMs = 366 * 86_400_000

/**
 * Sets a blackout; what schedules had written ahead is decided again. Throws `validation-failed` for one that ends
 * before it starts or lasts over a year, `forbidden` when a key wants one for all projects, and `quota-exceeded` at
 * 1,000 that are not over.
 */
export async function createBlackout(ctx: Ctx, input: NewBlackout): Promise<Blackout> {
  requireScope(ctx, 'calendars:write')
  const { name, fromAt, untilAt, roll = 'skip', isForAll = false } = input
  requireStretch(input)
  const projectId = isForAll ? null : ctx.projectId
  requireReach(ctx, { projectId })
  return withTx(ctx, async (tx) => {
    const open = await tx.db.$count(
      blackouts,
      and(eq(blackouts.tenantId, tx.tenantId), gt(blackouts.untilAt, sql`now()`)),
    )
    if (open >= openMax)
      throw new AppError('quota-exceeded', `An organisation has at most ${openMax} blackouts to come.`)
    const id = uuidv7(tx.clock.nowMs())
    const createdBy = actorText(tx.actor)
    const [made] = await tx.db
      .insert(blackouts)
      .values({ tenantId: tx.tenantId, id, projectId, name, fromAt, untilAt, roll, createdBy })
      .returning(columns)
    if (made === undefined) throw notFound('blackout')
    await tell(tx, 'create', made)
    return made
  })
}

/** Changes a blackout; what is left out stays. Throws as `createBlackout`, `not-found` and `precondition-failed`. */
export async function updateBlackout(
  ctx: Ctx,
  id: Uuid,
  {
    expectedVersion,
    ...changes
  }: { [Key in 'name' | 'fromAt' | 'untilAt' | 'roll']?: NewBlackout[Key] | undefined } & {
    expectedVersion?: number | undefined
  },
): Promise<Blackout> {
  requireScope(ctx, 'calendars:write')
  return withTx(ctx, async (tx) => {
    const before = await lockBlackout(tx, id)
    requireReach(tx, before)
    requireVersion('blackout', before.version, expectedVersion)
    const { name = before.name, fromAt = before.fromAt, untilAt = before.untilAt, roll = before.roll } = changes
    const wanted = { name, fromAt, untilAt, roll }
    requireStretch(wanted)
    const [after = before] = await tx.db
      .update(blackouts)
      .set({ ...wanted, version: sql`${blackouts.version} + 1`, updatedAt: sql`now()` })
      .where(and(eq(blackouts.tenantId, tx.tenantId), eq(blackouts.id, id)))
      .returning(columns)
    await tell(tx, 'update', after)
    return after
  })
}

/** Lifts a blackout. Throws `not-found`, `forbidden` when a key wants to lift one for all projects. */
export async function deleteBlackout(
  ctx: Ctx,
  id: Uuid,
  { expectedVersion }: { expectedVersion?: number | undefined } = {},
): Promise<void> {
  requireScope(ctx, 'calendars:write')
  await withTx(ctx, async (tx) => {
    const before = await lockBlackout(tx, id)
    requireReach(tx, before)
    requireVersion('blackout', before.version, expectedVersion)
    await tx.db.delete(blackouts).where(and(eq(blackouts.tenantId, tx.tenantId), eq(blackouts.id, id)))
    await tell(tx, 'delete', before)
  })
}

/** The blackouts of the project and those for all projects, oldest first; `isOpen`: those that are not over. */
export async function listBlackouts(
  ctx: Ctx,
  { isOpen = false }: { isOpen?: boolean | undefined },
  page: PageRequest,
): Promise<Page<Blackout>> {
  requireScope(ctx, 'calendars:read')
  const after = page.cursor === undefined ? undefined : gt(blackouts.id, decodeCursor(page.cursor))
  const open = isOpen ? gt(blackouts.untilAt, sql`now()`) : undefined
  const rows = await withRead(ctx, (tx) =>
    tx.db
      .select(columns)
      .from(blackouts)
      .where(and(visible(tx), open, after))
      .orderBy(asc(blackouts.id))
      .limit(page.limit + 1),
  )
  return toPage(rows, page.limit)
}

/** One blackout of the project, or one for all projects. Throws `not-found`. */
export async function getBlackout(ctx: Ctx, id: Uuid): Promise<Blackout> {
  requireScope(ctx, 'calendars:read')
  const [found] = await withRead(ctx, (tx) =>
    tx.db
      .select(columns)
      .from(blackouts)
      .where(and(visible(tx), eq(blackouts.id, id))),
  )
  if (found === undefined) throw notFound('blackout')
  return found
}

const visible = (ctx: Ctx) =>
  and(eq(blackouts.tenantId, ctx.tenantId), or(isNull(blackouts.projectId), eq(blackouts.projectId, ctx.projectId)))

async function lockBlackout(tx: Tx, id: Uuid): Promise<Blackout> {
  const [found] = await tx.db
    .select(columns)
    .from(blackouts)
    .where(and(visible(tx), eq(blackouts.id, id)))
    .for('update')
  if (found === undefined) throw notFound('blackout')
  return found
}

function requireStretch({ fromAt, untilAt }: Pick<Blackout, 'fromAt' | 'untilAt'>): void {
  const lengthMs = untilAt.getTime() - fromAt.getTime()
  if (lengthMs <= 0) throw validationFailed([{ pointer: '/until', detail: 'It ends before it starts' }])
  if (lengthMs > lengthMaxMs) throw validationFailed([{ pointer: '/until', detail: 'It lasts at most 366 days' }])
}

// A key was made for one project: it stops no other.
function requireReach(ctx: Ctx, { projectId }: Pick<Blackout, 'projectId'>): void {
  if (projectId === null && ctx.actor.type === 'key')
    throw new AppError('forbidden', 'Blackouts of all projects are set by people, not by API keys.')
}

const told = { create: 'blackout.created', update: 'blackout.updated', delete: 'blackout.deleted' } as const

async function tell(tx: Tx, what: keyof typeof told, blackout: Blackout): Promise<void> {
  const { id, projectId, name, fromAt, untilAt, roll } = blackout
  const jobs = await jobsOf(tx, projectId)
  await decideAgain(tx, jobs, 'blackout')
  const data = { name, from: fromAt.toISOString(), until: untilAt.toISOString(), roll, isForAll: projectId === null }
  await append(tx, { type: told[what], subject: id, data })
  await audit(tx, `blackout.${what}`, { subject: id, data })
}

/** All jobs with a schedule: any of them may be about to write ahead what the blackout decides about. */
async function jobsOf(tx: Tx, projectId: Uuid | null): Promise<Uuid[]> {
  const rows = await runNamed<[Uuid]>(
    tx.client,
    'scheduled_jobs',
    `select job_id from schedules where tenant_id = $1 and ($2::uuid is null or project_id = $2) and not paused`,
    [tx.tenantId, projectId],
  )
  return rows.map(([id]) => id)
}
