import { isDeepStrictEqual } from 'node:util'
import { and, asc, eq, gt, inArray, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { actorText, audit } from '../access/audit.ts'
import { defaultQueueConcurrency } from '../access/bootstrap.ts'
import { requireScope } from '../access/scope.ts'
import { virtualPool } from '../clock/virtual.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import { limits, queues } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { AppError, notFound, validationFailed } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { requireVersion } from '../kernel/version.ts'
import { queueClasses } from './classes.ts'
import { limitsOfQueue, lockQueue, type Queue, queueColumns, queueNamePattern } from './queue.ts'

export interface QueuePlace {
  id: Uuid
  pool: number
}

const queueCountMax = 1_000

// A queue's id never changes; the time only bounds how long a move to another pool goes unnoticed.
const places = new LRUCache<string, QueuePlace>({ max: 50_000, ttl: 60_000 })

/**
 * Where runs of that queue go. The queue is made, with its limits, when the project has none of that name yet; whoever
 * may start runs or write jobs may do that. Throws `validation-failed` for a name that is none, `quota-exceeded`
 * at 1,000 queues.
 */
export async function resolveQueue(ctx: Ctx, name: string): Promise<QueuePlace> {
  const known = await knownPlace(ctx, name)
  if (known !== undefined) return known
  if (!queueNamePattern.test(name)) {
    throw validationFailed([
      { pointer: '/queue', detail: 'must be 1 to 64 letters, digits, dots, underscores or dashes' },
    ])
  }
  return remember(ctx, name, await withTx(ctx, (tx) => ensurePlace(tx, name)))
}

/** The queue of that name in the project, which is never made by this. Throws `not-found`. */
export async function findQueue(ctx: Ctx, name: string): Promise<QueuePlace> {
  const place = await knownPlace(ctx, name)
  if (place === undefined) throw notFound('queue')
  return place
}

const placeKey = (ctx: Ctx, name: string): string => `${ctx.tenantId}${ctx.projectId}${name}`

async function knownPlace(ctx: Ctx, name: string): Promise<QueuePlace | undefined> {
  const known = places.get(placeKey(ctx, name))
  if (known !== undefined || !queueNamePattern.test(name)) return known
  const found = await withRead(ctx, (tx) => findPlace(tx, name))
  return found && remember(ctx, name, found)
}

function remember(ctx: Ctx, name: string, place: QueuePlace): QueuePlace {
  // What a transaction still open has seen may be its own work, which may never be true.
  if (!('client' in ctx)) places.set(placeKey(ctx, name), place)
  return place
}

async function findPlace(tx: Tx, name: string): Promise<QueuePlace | undefined> {
  const rows = await runNamed<[Uuid, number]>(
    tx.client,
    'queue_by_name',
    'select id, pool from queues where tenant_id = $1 and project_id = $2 and name = $3',
    [tx.tenantId, tx.projectId, name],
  )
  return rows[0] && { id: rows[0][0], pool: rows[0][1] }
}

async function ensurePlace(tx: Tx, name: string): Promise<QueuePlace> {
  const made = await insertQueue(tx, name, usual)
  const place = made ?? (await findPlace(tx, name))
  if (place === undefined) throw notFound('project')
  return place
}

type Settings = Pick<Queue, 'concurrency' | 'weight' | 'class' | 'preemptible' | 'deadLetters'>
type SettingsInput = { [Key in keyof Settings]?: Settings[Key] | undefined }
const usual: Settings = {
  concurrency: defaultQueueConcurrency,
  weight: 1,
  class: 'standard',
  preemptible: false,
  deadLetters: 'keep',
}

/** Settings with changes. A queue that is bulk no more is not preemptible either. Throws `validation-failed`. */
function within(settings: Settings, changes: SettingsInput): Settings {
  const queueClass = changes.class ?? settings.class
  if (changes.preemptible === true && queueClass !== 'bulk') {
    throw validationFailed([{ pointer: '/preemptible', detail: 'only bulk queues can be preemptible' }])
  }
  return {
    concurrency: changes.concurrency ?? settings.concurrency,
    weight: changes.weight ?? settings.weight,
    class: queueClass,
    preemptible: queueClass === 'bulk' && (changes.preemptible ?? settings.preemptible),
    deadLetters: changes.deadLetters ?? settings.deadLetters,
  }
}

/** Of these, what admission reads. */
const admissionRow = ({ concurrency, weight, class: queueClass, preemptible }: Settings) => ({
  concurrency,
  weight,
  class: queueClasses.indexOf(queueClass),
  preemptible,
})

/** Undefined when there is a queue of that name already. */
async function insertQueue(tx: Tx, name: string, settings: Settings): Promise<QueuePlace | undefined> {
  const count = await tx.db.$count(queues, and(eq(queues.tenantId, tx.tenantId), eq(queues.projectId, tx.projectId)))
  if (count >= queueCountMax) throw new AppError('quota-exceeded', `A project has at most ${queueCountMax} queues.`)
  const id = uuidv7(tx.clock.nowMs())
  const places = await runNamed<[number]>(
    tx.client,
    'insert_queue',
    `insert into queues (tenant_id, id, project_id, name, pool, dead_letters)
     select tenant_id, $3, id, $4, case when has_test_clock then ${virtualPool} else 1 end, $5 from projects where tenant_id = $1 and id = $2
     on conflict do nothing returning pool`,
    [tx.tenantId, tx.projectId, id, name, settings.deadLetters],
  )
  if (places[0] === undefined) return undefined
  await tx.db.insert(limits).values({ tenantId: tx.tenantId, queueId: id, ...admissionRow(settings) })
  await append(tx, { type: 'queue.created', subject: id, data: { name } })
  await audit(tx, 'queue.create', { subject: id, data: { name, ...settings } })
  return { id, pool: places[0][0] }
}

/** Makes a queue. Throws `conflict` when the project has one of that name. */
export async function createQueue(ctx: Ctx, { name, ...settings }: SettingsInput & { name: string }): Promise<Queue> {
  requireScope(ctx, 'queues:write')
  return withTx(ctx, async (tx) => {
    const made = await insertQueue(tx, name, within(usual, settings))
    if (made === undefined) {
      const current = await findPlace(tx, name)
      throw new AppError('conflict', `There is a queue named ${name} already.`, { current: { id: current?.id } })
    }
    return lockQueue(tx, made.id)
  })
}

/** The project's queues, oldest first. */
export async function listQueues(ctx: Ctx, page: PageRequest): Promise<Page<Queue>> {
  requireScope(ctx, 'queues:read')
  const rows = await withRead(ctx, (tx) =>
    tx.db
      .select(queueColumns)
      .from(queues)
      .innerJoin(limits, limitsOfQueue)
      .where(
        and(
          eq(queues.tenantId, tx.tenantId),
          eq(queues.projectId, tx.projectId),
          page.cursor === undefined ? undefined : gt(queues.id, decodeCursor(page.cursor)),
        ),
      )
      .orderBy(asc(queues.id))
      .limit(page.limit + 1),
  )
  return toPage(rows, page.limit)
}

/** What queues of the caller's tenant are called. */
export async function queueNames(ctx: Ctx, ids: readonly Uuid[]): Promise<Map<Uuid, string>> {
  if (ids.length === 0) return new Map()
  const rows = await withRead(ctx, (tx) =>
    tx.db
      .select({ id: queues.id, name: queues.name })
      .from(queues)
      .where(and(eq(queues.tenantId, tx.tenantId), inArray(queues.id, [...ids]))),
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The pools that serve queues of the caller's tenant. */
export async function queuePools(ctx: Ctx): Promise<number[]> {
  const rows = await withRead(ctx, (tx) =>
    tx.db.selectDistinct({ pool: queues.pool }).from(queues).where(eq(queues.tenantId, tx.tenantId)),
  )
  return rows.map(({ pool }) => pool)
}

/** One queue of the project. Throws `not-found`. */
export async function getQueue(ctx: Ctx, id: Uuid): Promise<Queue> {
  requireScope(ctx, 'queues:read')
  return withRead(ctx, async (tx) => {
    const [queue] = await tx.db
      .select(queueColumns)
      .from(queues)
      .innerJoin(limits, limitsOfQueue)
      .where(and(eq(queues.tenantId, tx.tenantId), eq(queues.projectId, tx.projectId), eq(queues.id, id)))
    if (queue === undefined) throw notFound('queue')
    return queue
  })
}

/** Changes a queue's limits; what is left out stays. Throws `precondition-failed` when it is not at `expectedVersion`. */
export async function updateQueue(
  ctx: Ctx,
  id: Uuid,
  changes: SettingsInput & { expectedVersion?: number | undefined },
): Promise<Queue> {
  requireScope(ctx, 'queues:write')
  return withTx(ctx, async (tx) => {
    const before = await lockQueue(tx, id)
    requireVersion('queue', before.version, changes.expectedVersion)
    const after = within(before, changes)
    if (isDeepStrictEqual(after, within(before, {}))) return before
    await tx.db
      .update(limits)
      .set(admissionRow(after))
      .where(and(eq(limits.tenantId, tx.tenantId), eq(limits.queueId, id)))
    await touch(tx, id, { deadLetters: after.deadLetters })
    await append(tx, { type: 'queue.updated', subject: id, data: { name: before.name, ...after } })
    await audit(tx, 'queue.update', {
      subject: id,
      data: { before: within(before, {}), after },
    })
    return lockQueue(tx, id)
  })
}

/**
 * Stops a queue from giving out runs; they wait, and those on their way go on. Pausing a paused queue changes nothing,
 * not even the reason.
 */
export async function pauseQueue(ctx: Ctx, id: Uuid, reason: string | null): Promise<Queue> {
  requireScope(ctx, 'queues:write')
  return withTx(ctx, async (tx) => {
    const before = await lockQueue(tx, id)
    if (before.pausedAt !== null) return before
    await setPaused(tx, id, true)
    await touch(tx, id, { pausedAt: sql`now()`, pausedBy: actorText(tx.actor), pauseReason: reason })
    await append(tx, { type: 'queue.paused', subject: id, data: { name: before.name, reason } })
    await audit(tx, 'queue.pause', { subject: id, data: { reason } })
    return lockQueue(tx, id)
  })
}

/** Lets a queue give out runs again. Resuming one that is not paused changes nothing. */
export async function resumeQueue(ctx: Ctx, id: Uuid): Promise<Queue> {
  requireScope(ctx, 'queues:write')
  return withTx(ctx, async (tx) => {
    const before = await lockQueue(tx, id)
    if (before.pausedAt === null) return before
    await setPaused(tx, id, false)
    await touch(tx, id, { pausedAt: null, pausedBy: null, pauseReason: null })
    await append(tx, { type: 'queue.resumed', subject: id, data: { name: before.name } })
    await audit(tx, 'queue.resume', { subject: id })
    return lockQueue(tx, id)
  })
}

const setPaused = (tx: Tx, id: Uuid, paused: boolean) =>
  tx.db
    .update(limits)
    .set({ paused })
    .where(and(eq(limits.tenantId, tx.tenantId), eq(limits.queueId, id)))

type QueueChange = Parameters<ReturnType<typeof updateOf>['set']>[0]
const updateOf = (tx: Tx) => tx.db.update(queues)

const touch = (tx: Tx, id: Uuid, change: QueueChange) =>
  updateOf(tx)
    .set({ ...change, version: sql`${queues.version} + 1`, updatedAt: sql`now()` })
    .where(and(eq(queues.tenantId, tx.tenantId), eq(queues.id, id)))
