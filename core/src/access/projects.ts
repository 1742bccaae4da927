import { and, asc, eq, gt, sql } from 'drizzle-orm'
import { z } from 'zod'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import { projects } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { resolveQueue } from '../flow/queues.ts'
import { AppError, notFound, validationFailed } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { lineValue } from '../kernel/text.ts'
import { requireVersion } from '../kernel/version.ts'
import { audit } from './audit.ts'
import { requireScope } from './scope.ts'

export const projectLabels = ['production', 'staging', 'development'] as const

/** A named space of a tenant, with its own keys, jobs and queues. */
export interface Project {
  id: Uuid
  slug: string
  name: string
  label: (typeof projectLabels)[number]
  /** Creates without `Idempotency-Key` are refused. */
  requiresIdempotencyKey: boolean
  /** Made for tests: what is due there follows a clock that is set through the API. */
  hasTestClock: boolean
  createdAt: Date
  updatedAt: Date
  version: number
}

export const projectSlugValue = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be 1 to 63 lower-case letters, digits or dashes')
export const projectNameValue = lineValue(100)
export const projectLabelValue = z.enum(projectLabels)

const projectColumns = {
  id: projects.id,
  slug: projects.slug,
  name: projects.name,
  label: projects.label,
  requiresIdempotencyKey: projects.requiresIdempotencyKey,
  hasTestClock: projects.hasTestClock,
  createdAt: projects.createdAt,
  updatedAt: projects.updatedAt,
  version: projects.version,
}

// A key was made for one project: of the others it does not even learn that they exist.
const visibleTo = (ctx: Ctx) =>
  and(eq(projects.tenantId, ctx.tenantId), ctx.actor.type === 'key' ? eq(projects.id, ctx.projectId) : undefined)

/**
 * Makes a project with its default queue. Throws `forbidden` for a key, which belongs to one project for good, and
 * `conflict` when the slug is taken.
 */
export async function createProject(
  ctx: Ctx,
  input: {
    slug: string
    name: string
    label?: Project['label'] | undefined
    requiresIdempotencyKey?: boolean | undefined
    hasTestClock?: boolean | undefined
  },
): Promise<Project> {
  requireScope(ctx, 'projects:write')
  if (ctx.actor.type === 'key') throw new AppError('forbidden', 'Projects are made by people, not by API keys.')
  return withTx(ctx, async (tx) => {
    const { slug, name, label = 'production', requiresIdempotencyKey = false, hasTestClock = false } = input
    if (hasTestClock && label === 'production') {
      throw validationFailed([{ pointer: '/hasTestClock', detail: 'A project labelled production follows real time.' }])
    }
    const [made] = await tx.db
      .insert(projects)
      .values({
        tenantId: tx.tenantId,
        id: uuidv7(tx.clock.nowMs()),
        slug,
        name,
        label,
        requiresIdempotencyKey,
        hasTestClock,
      })
      .onConflictDoNothing()
      .returning(projectColumns)
    if (made === undefined) throw new AppError('conflict', `There is a project ${slug} already.`)
    const inside: Tx = { ...tx, projectId: made.id }
    await resolveQueue(inside, 'default')
    await append(inside, { type: 'project.created', subject: made.id, data: { slug, name, label } })
    await audit(inside, 'project.create', {
      subject: made.id,
      data: { slug, name, label, requiresIdempotencyKey, hasTestClock },
    })
    return made
  })
}

/** The tenant's projects, oldest first; a key sees its own. */
export async function listProjects(ctx: Ctx, page: PageRequest): Promise<Page<Project>> {
  requireScope(ctx, 'projects:read')
  const after = page.cursor === undefined ? undefined : gt(projects.id, decodeCursor(page.cursor))
  const rows = await withRead(ctx, (tx) =>
    tx.db
      .select(projectColumns)
      .from(projects)
      .where(and(visibleTo(tx), after))
      .orderBy(asc(projects.id))
      .limit(page.limit + 1),
  )
  return toPage(rows, page.limit)
}

/** One project of the tenant. Throws `not-found`. */
export async function getProject(ctx: Ctx, id: Uuid): Promise<Project> {
  requireScope(ctx, 'projects:read')
  const [project] = await withRead(ctx, (tx) =>
    tx.db
      .select(projectColumns)
      .from(projects)
      .where(and(visibleTo(tx), eq(projects.id, id))),
  )
  if (project === undefined) throw notFound('project')
  return project
}

/** Changes a project; what is left out stays. Throws `precondition-failed` when it is not at `expectedVersion`. */
export async function updateProject(
  ctx: Ctx,
  id: Uuid,
  {
    expectedVersion,
    ...input
  }: {
    name?: string | undefined
    label?: Project['label'] | undefined
    requiresIdempotencyKey?: boolean | undefined
    expectedVersion?: number | undefined
  },
): Promise<Project> {
  requireScope(ctx, 'projects:write')
  return withTx(ctx, async (tx) => {
    const own = and(visibleTo(tx), eq(projects.id, id))
    const [before] = await tx.db.select(projectColumns).from(projects).where(own).for('update')
    if (before === undefined) throw notFound('project')
    requireVersion('project', before.version, expectedVersion)
    const settings = ({ name, label, requiresIdempotencyKey }: Project) => ({ name, label, requiresIdempotencyKey })
    const old = settings(before)
    const wanted = {
      name: input.name ?? old.name,
      label: input.label ?? old.label,
      requiresIdempotencyKey: input.requiresIdempotencyKey ?? old.requiresIdempotencyKey,
    }
    if (JSON.stringify(old) === JSON.stringify(wanted)) return before
    const [after = before] = await tx.db
      .update(projects)
      .set({ ...wanted, version: sql`${projects.version} + 1`, updatedAt: sql`now()` })
      .where(own)
      .returning(projectColumns)
    const inside: Tx = { ...tx, projectId: id }
    await append(inside, { type: 'project.updated', subject: id, data: settings(after) })
    await audit(inside, 'project.update', { subject: id, data: { before: old, after: settings(after) } })
    return after
  })
}
