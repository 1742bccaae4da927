import { LRUCache } from 'lru-cache'
import { type Covers, resolveCovers } from '../calendar/resolve.ts'
import { type Pool, type PoolClient, runNamed } from '../db/client.ts'
import { Backlogs } from '../flow/backlogs.ts'
import type { Lane } from '../flow/lanes.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { type CompiledSchedule, compileSchedule } from '../schedule/occurrences.ts'
import { nativeZones } from '../schedule/zone.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { type Decision, decideInstants } from './decide-instants.ts'
import {
  type DueSchedule,
  type KnownRows,
  type OtherClock,
  readKnownRows,
  readRoom,
  takeDueSchedules,
} from './due-schedules.ts'
import { jobLanes } from './job-lanes.ts'
import { advanceSchedules, type Moved, type Written, writeOccurrences } from './write-occurrences.ts'

export interface MaterialiseOptions {
  /** What limits look at lies sealed. */
  keyRing: KeyRing
  shard: number
  /** How far ahead of the database's clock occurrences are written. */
  aheadMs: number
  /** The most schedules to look at in one pass. */
  limit: number
  /** Only the schedules of this project, by this clock. */
  clock?: OtherClock
}

export interface Materialised {
  schedules: number
  runs: number
  missed: number
  /** Earliest due instant of each pool that got runs: whom to wake, and when. */
  wakes: Map<number, number>
  /** Schedules that could not be computed. They are left as they were, and set aside for a minute. */
  broken: { jobId: Uuid; error: unknown }[]
  /** Schedules that were left as they are, since the keys of their tenants are not in memory: load them, and look again. */
  unread: DueSchedule[]
  /** There was more to do than one pass takes. */
  isFull: boolean
}

/**
 * Rows written in one pass, in equal shares, and how long it may compute them; the rest follows in the next. After
 * an outage there are thousands, and a pass that took longer than a transaction may be idle would never end.
 */
const rowsMax = 2_000
const computeMs = 500

// Version by version, so that an edit brings a schedule back at once.
const setAside = new LRUCache<string, true>({ max: 10_000, ttl: 60_000 })
const versionKey = ({ jobId, jobVersion }: DueSchedule): string => `${jobId}.${jobVersion}`

const compiled = new LRUCache<string, CompiledSchedule>({ max: 20_000 })

function compile(schedule: DueSchedule, { calendars, blackouts, key: coversKey }: Covers): CompiledSchedule {
  const key = `${versionKey(schedule)} ${coversKey}`
  const known = compiled.get(key)
  if (known !== undefined) return known
  const made = compileSchedule(schedule.spec, nativeZones, { seed: schedule.jobId, calendars, blackouts })
  compiled.set(key, made)
  return made
}

/**
 * Writes what schedules will do next: for each instant up to the look-ahead its occurrence and its run, and moves
 * `next_at` on, all in one transaction. Any number of schedulers may do this at once; a schedule is one scheduler's at
 * a time.
 */
export async function materialise(pool: Pool, options: MaterialiseOptions): Promise<Materialised> {
  const result = await materialiseOnce(pool, options)
  for (const schedule of result.unread) {
    try {
      await options.keyRing.load(schedule.tenantId)
      result.isFull = true
    } catch (error) {
      leaveOut(result, schedule, error)
    }
  }
  return result
}

async function materialiseOnce(pool: Pool, options: MaterialiseOptions): Promise<Materialised> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    const result = await materialiseIn(client, options)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch((rollbackError: Error) => {
      broken = rollbackError
    })
    throw error
  } finally {
    client.release(broken)
  }
}

function leaveOut({ broken }: Materialised, schedule: DueSchedule, error: unknown): void {
  setAside.set(versionKey(schedule), true)
  broken.push({ jobId: schedule.jobId, error })
}

/** The same inside of a transaction. */
export async function materialiseIn(client: PoolClient, options: MaterialiseOptions): Promise<Materialised> {
  const { aheadMs, limit } = options
  const { schedules, nowMs } = await takeDueSchedules(client, { ...options, setAside: [...setAside.keys()] })
  const result: Materialised = {
    schedules: schedules.length,
    runs: 0,
    missed: 0,
    wakes: new Map(),
    broken: [],
    unread: [],
    isFull: schedules.length >= limit,
  }
  if (schedules.length === 0) return result
  const known = await readKnownRows(client, schedules)
  leaveEditsToRests(schedules, known)
  const covers = await readCovers(client, schedules, nowMs)
  const room = await readRoom(client, schedules)
  const { lanes, unread } = await lanesOf(client, options, schedules)
  const backlogs = await Backlogs.lock(
    client,
    [...lanes].map(([{ tenantId }, lane]) => ({ tenantId, lane })),
  )
  const computeUntilMs = performance.now() + computeMs
  const share = Math.ceil(rowsMax / schedules.length)
  const written: Written[] = []
  const moved: Moved[] = []
  for (const [index, schedule] of schedules.entries()) {
    if (performance.now() > computeUntilMs) {
      result.isFull = true
      break
    }
    if (unread.has(schedule)) {
      result.unread.push(schedule)
      continue
    }
    const lane = lanes.get(schedule)
    const shareUntilMs = performance.now() + computeMs / schedules.length
    const mayGoOn = (decided: number): boolean => decided < share && performance.now() < shareUntilMs
    try {
      const plan = compile(schedule, covers[index] ?? noCovers)
      const rows = known.get(schedule)
      const untilMs = Math.min(schedule.untilMs ?? nowMs + aheadMs + plan.leadMs, rows?.readUntilMs ?? Infinity)
      const isVoid = schedule.isEdit && rows?.rows.get(schedule.nextAtMs)?.isOpen !== true
      const decided = isVoid
        ? { decisions: [], nextAtMs: null }
        : decideInstants(plan, schedule, { nowMs, untilMs }, { known: rows?.rows, mayGoOn })
      const decisions = schedule.shadow
        ? decided.decisions.map(inShadow)
        : withinBacklogs(backlogs, lane, withinRoom(room, schedule.tenantId, decided.decisions))
      for (const decision of decisions) {
        const isRun = decision.outcome === 'pending'
        written.push({
          ...decision,
          schedule,
          runId: isRun ? uuidv7(nowMs) : null,
          laneId: (isRun && lane?.id) || null,
        })
      }
      const runs = decisions.filter(({ outcome }) => outcome === 'pending').length
      moved.push({ schedule, nextAtMs: decided.nextAtMs, revisits: isRevisit(rows, decided.nextAtMs), runs })
      if (decided.nextAtMs !== null && decided.nextAtMs <= untilMs) result.isFull = true
    } catch (error) {
      leaveOut(result, schedule, error)
    }
  }
  for (const { schedule, outcome, count, dueAtMs } of written) {
    if (outcome === 'missed') result.missed += count
    if (outcome !== 'pending') continue
    const { pool } = schedule
    result.wakes.set(pool, Math.min(result.wakes.get(pool) ?? Number.POSITIVE_INFINITY, dueAtMs))
  }
  if (written.length > 0) result.runs = await writeOccurrences(client, onceEach(written))
  await backlogs.drop()
  await advanceSchedules(client, moved)
  return result
}

/** What a job in shadow does: it is noted that it would have run. */
const inShadow = (decision: Decision): Decision =>
  decision.outcome === 'skipped' ? decision : { ...decision, outcome: 'skipped', reason: 'shadow', caughtUp: false }

/** Beyond what its tenant may have waiting, nothing is started. */
function withinRoom(room: Map<Uuid, number>, tenantId: Uuid, decisions: Decision[]): Decision[] {
  const free = room.get(tenantId)
  if (free === undefined) return decisions
  let left = free
  const within = decisions.map((decision): Decision => {
    if (decision.outcome !== 'pending' || left-- > 0) return decision
    return beyondQuota(decision)
  })
  room.set(tenantId, Math.max(0, left))
  return within
}

const beyondQuota = (decision: Decision): Decision => ({
  ...decision,
  outcome: 'skipped',
  reason: 'quota',
  caughtUp: false,
})

/** Nor beyond what may wait for the limits that it minds. */
const withinBacklogs = (backlogs: Backlogs, lane: Lane | undefined, decisions: Decision[]): Decision[] =>
  lane === undefined
    ? decisions
    : decisions.map((each) => (each.outcome !== 'pending' || backlogs.take(lane) ? each : beyondQuota(each)))

/** The limits that their runs will mind beside those of their queues; one in shadow starts none. */
const lanesOf = (client: PoolClient, { keyRing }: MaterialiseOptions, schedules: readonly DueSchedule[]) =>
  jobLanes(
    client,
    keyRing,
    schedules.filter(({ isLimited, shadow }) => isLimited && !shadow),
  )

const noCovers: Covers = { calendars: {}, blackouts: [], key: '' }

/** What forbids instants of each: asked once their rows are locked, so that no change of it is missed. */
const readCovers = (client: PoolClient, schedules: readonly DueSchedule[], nowMs: number): Promise<Covers[]> =>
  resolveCovers(
    client,
    schedules.map(({ tenantId, projectId, spec, nextAtMs }) => ({
      tenantId,
      projectId,
      schedule: spec,
      sinceMs: Math.min(nextAtMs, nowMs),
    })),
  )

/** An instant that a person edited comes up as a rest, where it was counted: it is not for its schedule to decide. */
function leaveEditsToRests(schedules: readonly DueSchedule[], known: ReadonlyMap<DueSchedule, KnownRows>): void {
  for (const edit of schedules) {
    if (!edit.isEdit) continue
    const going = schedules.find((each) => each.jobId === edit.jobId && !each.isEdit && each.untilMs === null)
    const row = going && known.get(going)?.rows.get(edit.nextAtMs)
    if (row !== undefined) row.isOpen = false
  }
}

/** Should it come up twice all the same, it is written once. */
function onceEach(written: readonly Written[]): Written[] {
  const seen = new Map(written.map((each) => [`${each.schedule.jobId} ${each.nominalAtMs}`, each]))
  return seen.size === written.length ? [...written] : [...seen.values()]
}

/** Whether the ledger still holds something from there on. */
const isRevisit = (known: KnownRows | undefined, nextAtMs: number | null): boolean =>
  known !== undefined &&
  nextAtMs !== null &&
  (known.readUntilMs !== null || [...known.rows.keys()].some((nominalMs) => nominalMs >= nextAtMs))

/** When the next schedule of a shard wants to be looked at, epoch milliseconds; null when none does. */
export async function nextScheduleMs(pool: Pool, shard: number): Promise<number | null> {
  const rows = await runNamed<[number | null]>(
    pool,
    'next_schedule',
    `select round(extract(epoch from (select look_at(next_at, lead_ms) from schedules
       where shard_id = $1 and next_at is not null and not paused order by look_at(next_at, lead_ms) limit 1))::float8 * 1000)`,
    [shard],
  )
  return rows[0]?.[0] ?? null
}
