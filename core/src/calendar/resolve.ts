import { LRUCache } from 'lru-cache'
import { type Pool, type PoolClient, runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { type FieldProblem, validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { compileCalendar } from '../schedule/calendar.ts'
import type { DayCover } from '../schedule/day-cover.ts'
import type { Blackout } from '../schedule/decide.ts'
import type { FullSchedule } from '../schedule/extras.ts'
import type { CalendarDefinition } from './calendar.ts'
import { loadHolidays } from './write-version.ts'

/** Whose covers are wanted: those of a schedule of a project, from an instant on. */
export interface CoversRequest {
  tenantId: Uuid
  projectId: Uuid
  schedule: Pick<FullSchedule, 'onlyOn' | 'notOn'>
  /** Blackouts that end before it are left out. */
  sinceMs: number
}

/** What `compileSchedule` takes beside the schedule. */
export interface Covers {
  calendars: Readonly<Record<string, DayCover>>
  blackouts: readonly (Blackout & { readonly id: Uuid })[]
  /** Another one whenever a calendar or blackout is: what was compiled with this is good while the key is the same. */
  key: string
}

const compiled = new LRUCache<string, DayCover>({ max: 2_000 })

export const calendarsOf = ({ onlyOn = [], notOn = [] }: CoversRequest['schedule']): string[] => [
  ...new Set([...onlyOn, ...notOn]),
]

/**
 * The covers of schedules, in their order: two small statements for any number of them, and one more for calendars at
 * a version that this process meets for the first time. Calendars that do not exist are left out. As the engine, or in
 * a transaction of the tenant. Who holds the schedules' rows locked before asking sees every change, since those lock
 * them too.
 */
export async function resolveCovers(client: Pool | PoolClient, requests: readonly CoversRequest[]): Promise<Covers[]> {
  const calendars = await readCalendars(client, requests)
  const blackouts = await readBlackouts(client, requests)
  return requests.map(({ tenantId, projectId, schedule, sinceMs }) => {
    const named = calendarsOf(schedule).flatMap((name) => calendars.get(`${tenantId}/${name}`) ?? [])
    const over = (blackouts.get(tenantId) ?? []).filter(
      (blackout) => (blackout.projectId ?? projectId) === projectId && blackout.untilMs > sinceMs,
    )
    return {
      calendars: Object.fromEntries(named.map(({ name, cover }) => [name, cover])),
      blackouts: over,
      key: [...named, ...over].map((each) => each.key).join(),
    }
  })
}

interface NamedCover {
  name: string
  key: string
  cover: DayCover
}

async function readCalendars(
  client: Pool | PoolClient,
  requests: readonly CoversRequest[],
): Promise<Map<string, NamedCover>> {
  const wanted = new Map<string, [Uuid, string]>()
  for (const { tenantId, schedule } of requests)
    for (const name of calendarsOf(schedule)) wanted.set(`${tenantId}/${name}`, [tenantId, name])
  if (wanted.size === 0) return new Map()
  const rows = await runNamed<[Uuid, string, Uuid, number]>(
    client,
    'calendars_by_name',
    `select c.tenant_id, c.name, c.id, c.version from unnest($1::uuid[], $2::text[]) w(t, n)
     join calendars c on c.tenant_id = w.t and c.name = w.n`,
    [[...wanted.values()].map(([tenantId]) => tenantId), [...wanted.values()].map(([, name]) => name)],
  )
  const versions = rows.map(([tenantId, name, id, version]) => ({
    tenantId,
    name,
    id,
    version,
    key: `${id}.${version}`,
  }))
  await compileMissing(
    client,
    versions.filter(({ key }) => !compiled.has(key)),
  )
  const found = new Map<string, NamedCover>()
  for (const { tenantId, name, key } of versions) {
    const cover = compiled.get(key)
    if (cover !== undefined) found.set(`${tenantId}/${name}`, { name, key, cover })
  }
  return found
}

interface VersionOf {
  tenantId: Uuid
  id: Uuid
  version: number
  key: string
}

async function compileMissing(client: Pool | PoolClient, missing: readonly VersionOf[]): Promise<void> {
  if (missing.length === 0) return
  const rows = await runNamed<[string, CalendarDefinition]>(
    client,
    'calendar_definitions',
    `select v.calendar_id || '.' || v.version, v.definition from unnest($1::uuid[], $2::uuid[], $3::int[]) w(t, i, n)
     join calendar_versions v on v.tenant_id = w.t and v.calendar_id = w.i and v.version = w.n`,
    [missing.map(({ tenantId }) => tenantId), missing.map(({ id }) => id), missing.map(({ version }) => version)],
  )
  for (const [key, { description: _, ...calendar }] of rows) {
    const source = calendar.holidays.length > 0 ? await loadHolidays() : undefined
    compiled.set(key, compileCalendar(calendar, source))
  }
}

type ReadBlackout = Blackout & { id: Uuid; projectId: Uuid | null; key: string }

async function readBlackouts(
  client: Pool | PoolClient,
  requests: readonly CoversRequest[],
): Promise<Map<Uuid, ReadBlackout[]>> {
  const since = new Map<Uuid, number>()
  for (const { tenantId, sinceMs } of requests)
    since.set(tenantId, Math.min(since.get(tenantId) ?? Number.POSITIVE_INFINITY, sinceMs))
  const found = new Map<Uuid, ReadBlackout[]>()
  if (since.size === 0) return found
  const rows = await runNamed<[Uuid, Uuid, number, Uuid | null, string, Date, Date, 'skip' | 'next']>(
    client,
    'blackouts_since',
    `select b.tenant_id, b.id, b.version, b.project_id, b.name, b.from_at, b.until_at, b.roll
     from unnest($1::uuid[], $2::float8[]) w(t, since) join blackouts b on b.tenant_id = w.t and b.until_at > to_timestamp(w.since / 1000)
     order by b.from_at, b.id`,
    [[...since.keys()], [...since.values()]],
  )
  for (const [tenantId, id, version, projectId, name, from, until, roll] of rows) {
    const blackout = {
      id,
      projectId,
      name,
      fromMs: from.getTime(),
      untilMs: until.getTime(),
      roll,
      key: `${id}.${version}`,
    }
    found.set(tenantId, [...(found.get(tenantId) ?? []), blackout])
  }
  return found
}

/**
 * The covers of a schedule in the caller's project. Throws `validation-failed` for calendars that the tenant does not
 * have, with pointers that begin with `pointer`.
 */
export async function coversOf(
  tx: Tx,
  schedule: Pick<FullSchedule, 'onlyOn' | 'notOn'>,
  { sinceMs, pointer = '/schedule' }: { sinceMs: number; pointer?: string },
): Promise<Covers> {
  const { tenantId, projectId } = tx
  const [covers] = await resolveCovers(tx.client, [{ tenantId, projectId, schedule, sinceMs }])
  const problems = (['onlyOn', 'notOn'] as const).flatMap((field) =>
    (schedule[field] ?? []).flatMap((name, index): FieldProblem[] =>
      covers !== undefined && Object.hasOwn(covers.calendars, name)
        ? []
        : [{ pointer: `${pointer}/${field}/${index}`, detail: `There is no calendar named ${name}` }],
    ),
  )
  if (covers === undefined || problems.length > 0) throw validationFailed(problems)
  return covers
}

/**
 * Keeps the calendars of a schedule that is being written from being changed or deleted until the transaction ends. Who
 * changes a calendar locks it before the schedules that use it: so does whoever writes a schedule, before its job.
 */
export async function holdCalendars(tx: Tx, schedule: FullSchedule): Promise<void> {
  const names = calendarsOf(schedule)
  if (names.length === 0) return
  await runNamed(
    tx.client,
    'hold_calendars',
    'select from calendars where tenant_id = $1 and name = any($2::text[]) order by id for share',
    [tx.tenantId, names],
  )
}
