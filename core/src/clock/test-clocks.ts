import { and, desc, eq, lt, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import { projects, schedules, testClocks } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { firstInstant } from '../job/write-schedule.ts'
import { AppError, notFound, validationFailed } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { lineValue } from '../kernel/text.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'

/** The time of a project that was made for tests: it stands still until it is advanced. */
export interface TestClock {
  id: Uuid
  projectId: Uuid
  name: string
  now: Date
  /** Where it is on its way to; null: it stands still. */
  target: Date | null
  /** Runs it let go and waits for before it goes on. */
  openRuns: number
  createdAt: Date
  updatedAt: Date
}

export const testClockNameValue = lineValue(100)

const columns = {
  id: testClocks.id,
  projectId: testClocks.projectId,
  name: testClocks.name,
  now: testClocks.nowAt,
  target: testClocks.targetAt,
  openRuns: sql<number>`cardinality(${testClocks.openRuns})`,
  createdAt: testClocks.createdAt,
  updatedAt: testClocks.updatedAt,
}

const select = (tx: Tx, condition: SQL | undefined) =>
  tx.db
    .select(columns)
    .from(testClocks)
    .where(and(eq(testClocks.tenantId, tx.tenantId), eq(testClocks.projectId, tx.projectId), condition))
    .$dynamic()

const ofId = (tx: Tx, id: Uuid) => and(eq(testClocks.tenantId, tx.tenantId), eq(testClocks.id, id))

/**
 * Gives the caller's project its clock, standing at an instant; the project's schedules go on from there. Throws
 * `conflict` when the project was not made for one, or has one.
 */
export async function createTestClock(ctx: Ctx, { name, now }: { name: string; now: Date }): Promise<TestClock> {
  requireScope(ctx, 'projects:write')
  return withTx(ctx, async (tx) => {
    const own = and(eq(projects.tenantId, tx.tenantId), eq(projects.id, tx.projectId))
    const [project] = await tx.db.select({ isMarked: projects.hasTestClock }).from(projects).where(own)
    if (project?.isMarked !== true) {
      throw new AppError('conflict', 'Only a project that was made with `hasTestClock` can have a test clock.')
    }
    const id = uuidv7(tx.clock.nowMs())
    const made = await tx.db
      .insert(testClocks)
      .values({ tenantId: tx.tenantId, id, projectId: tx.projectId, name, nowAt: now })
      .onConflictDoNothing()
    if (made.rowCount !== 1) {
      const [current] = await select(tx, undefined)
      throw new AppError('conflict', 'The project has a test clock already.', { current: { id: current?.id } })
    }
    await setSchedules(tx, now)
    await append(tx, { type: 'test-clock.created', subject: id, data: { name, now } })
    await audit(tx, 'test-clock.create', { subject: id, data: { name, now } })
    return readTestClock(tx, id)
  })
}

/** What jobs were told before there was this clock was told by another one. */
async function setSchedules(tx: Tx, now: Date): Promise<void> {
  const own = and(eq(schedules.tenantId, tx.tenantId), eq(schedules.projectId, tx.projectId))
  const rows = await tx.db
    .select({ jobId: schedules.jobId, spec: sql<FullSchedule>`${schedules.spec}` })
    .from(schedules)
    .where(own)
    .for('update')
  for (const { jobId, spec } of rows) {
    await tx.db
      .update(schedules)
      .set({ nextAt: firstInstant(spec, jobId, now.getTime()) })
      .where(and(own, eq(schedules.jobId, jobId)))
  }
}

/** The clocks of the project: one, or none. */
export async function listTestClocks(ctx: Ctx, page: PageRequest): Promise<Page<TestClock>> {
  requireScope(ctx, 'projects:read')
  const after = page.cursor === undefined ? undefined : lt(testClocks.id, decodeCursor(page.cursor))
  const rows = await withRead(ctx, (tx) =>
    select(tx, after)
      .orderBy(desc(testClocks.id))
      .limit(page.limit + 1),
  )
  return toPage(rows, page.limit)
}

/** One clock of the project. Throws `not-found`. */
export async function getTestClock(ctx: Ctx, id: Uuid): Promise<TestClock> {
  requireScope(ctx, 'projects:read')
  return withRead(ctx, (tx) => readTestClock(tx, id))
}

async function readTestClock(tx: Tx, id: Uuid): Promise<TestClock> {
  const [clock] = await select(tx, eq(testClocks.id, id))
  if (clock === undefined) throw notFound('test clock')
  return clock
}

async function lockTestClock(tx: Tx, id: Uuid): Promise<TestClock> {
  const [clock] = await select(tx, eq(testClocks.id, id)).for('update')
  if (clock === undefined) throw notFound('test clock')
  return clock
}

const advanceMaxDays = 3_660

/** A length of time on a calendar in UTC, such as `P1M` or `PT36H`. */
export const advanceByValue = z
  .string()
  .refine((text) => parseLength(text) !== undefined, 'must be a positive ISO 8601 duration such as P1M or PT36H')
  .meta({ format: 'duration', examples: ['P1M'] })

function parseLength(text: string): Temporal.Duration | undefined {
  try {
    const length = Temporal.Duration.from(text)
    return length.sign > 0 ? length : undefined
  } catch {
    return undefined
  }
}

/**
 * Sends a clock forward, to an instant or by a length of time. It goes from one due instant to the next, and at each
 * waits until what was due has run; so it arrives a while after this has answered. Throws `conflict` while it is on its
 * way, and `validation-failed` for a way back, or one of more than ten years.
 */
export async function advanceTestClock(ctx: Ctx, id: Uuid, way: { to: Date } | { by: string }): Promise<TestClock> {
  requireScope(ctx, 'projects:write')
  return withTx(ctx, async (tx) => {
    const before = await lockTestClock(tx, id)
    if (before.target !== null) {
      throw new AppError('conflict', 'The clock is on its way.', { current: { target: before.target } })
    }
    const target = toTarget(before.now, way)
    await tx.db.update(testClocks).set({ targetAt: target, updatedAt: sql`clock_timestamp()` }).where(ofId(tx, id))
    await audit(tx, 'test-clock.advance', { subject: id, data: { from: before.now, to: target } })
    return readTestClock(tx, id)
  })
}

function toTarget(now: Date, way: { to: Date } | { by: string }): Date {
  const pointer = 'to' in way ? '/to' : '/by'
  const target = 'to' in way ? way.to : addLength(now, way.by)
  if (target === null || target.getTime() - now.getTime() > advanceMaxDays * 86_400_000) {
    throw validationFailed([{ pointer, detail: `must be at most ${advanceMaxDays} days ahead` }])
  }
  if (target < now) throw validationFailed([{ pointer, detail: `must not be before ${now.toISOString()}` }])
  return target
}

function addLength(now: Date, by: string): Date | null {
  const length = parseLength(by)
  if (length === undefined) return null
  try {
    const from = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO('UTC')
    return new Date(from.add(length).epochMilliseconds)
  } catch {
    return null
  }
}

/**
 * Takes a project's clock away: nothing is due there until it has another one. Its ledger goes with it; runs that were
 * let go go on. Throws `not-found`.
 */
export async function deleteTestClock(ctx: Ctx, id: Uuid): Promise<void> {
  requireScope(ctx, 'projects:write')
  await withTx(ctx, async (tx) => {
    const { name, now } = await lockTestClock(tx, id)
    await tx.db.delete(testClocks).where(ofId(tx, id))
    await runNamed(
      tx.client,
      'forget_virtual_ledger',
      'delete from occurrences where tenant_id = $1 and project_id = $2',
      [tx.tenantId, tx.projectId],
    )
    await append(tx, { type: 'test-clock.deleted', subject: id, data: { name, now } })
    await audit(tx, 'test-clock.delete', { subject: id, data: { name, now } })
  })
}
