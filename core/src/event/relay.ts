import { arrayLiteral, type Pool, runNamed, textArrayLiteral } from '../db/client.ts'
import { type RunStatus, stateCodes } from '../run/run.ts'
import type { StoredEvent } from './event.ts'
import { parsePosition } from './read.ts'

/** Where a named reader stands; it starts at the very beginning. */
export async function readRelayPosition(pool: Pool, name: string): Promise<string> {
  const rows = await runNamed<[string]>(
    pool,
    'relay_position',
    "select xid::text || '-' || seq::text from relay_positions where name = $1",
    [name],
  )
  return rows[0]?.[0] ?? '0-0'
}

const stateOf = (event: StoredEvent): number | null => {
  const [noun, status] = event.type.split('.')
  return noun === 'run' && status !== undefined && status in stateCodes
    ? stateCodes[status as RunStatus & keyof typeof stateCodes]
    : null
}

const minuteMs = 60_000
const hourMs = 3_600_000

const tally = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1)

/**
 * Moves a reader on from `from` behind `events` and counts them for the pictures of time, in one statement: however
 * often a batch is told again after a crash, or by whichever of several relays, it counts once. Returns whether the
 * move was ours; false means another relay was faster.
 */
export async function advanceRelay(pool: Pool, name: string, from: string, events: StoredEvent[]): Promise<boolean> {
  const last = events.at(-1)
  if (last === undefined) return true
  const minutes = new Map<string, number>()
  const hours = new Map<string, number>()
  for (const event of events) {
    const state = stateOf(event)
    if (state === null || event.projectId === null) continue
    const at = event.at.getTime()
    tally(minutes, `${event.tenantId} ${event.projectId} ${at - (at % minuteMs)} ${state}`)
    if (event.jobId !== null) tally(hours, `${event.tenantId} ${event.jobId} ${at - (at % hourMs)} ${state}`)
  }
  const rows = await runNamed<[number]>(
    pool,
    'advance_relay',
    `with moved as (
       insert into relay_positions as p (name, xid, seq) values ($1, $4::xid8, $5::bigint)
       on conflict (name) do update set xid = excluded.xid, seq = excluded.seq where p.xid = $2::xid8 and p.seq = $3::bigint
       returning 1),
     m as (
       insert into run_minutes as c (tenant_id, project_id, minute, state, count)
       select k[1]::uuid, k[2]::uuid, to_timestamp(k[3]::float8 / 1000), k[4]::smallint, n
       from unnest($6::text[], $7::int[]) u(key, n), string_to_array(key, ' ') k where exists (select from moved)
       on conflict (tenant_id, project_id, minute, state) do update set count = c.count + excluded.count),
     h as (
       insert into job_hours as c (tenant_id, job_id, hour, state, count)
       select k[1]::uuid, k[2]::uuid, to_timestamp(k[3]::float8 / 1000), k[4]::smallint, n
       from unnest($8::text[], $9::int[]) u(key, n), string_to_array(key, ' ') k where exists (select from moved)
       on conflict (tenant_id, job_id, hour, state) do update set count = c.count + excluded.count)
     select count(*)::int from moved`,
    [
      name,
      ...parsePosition(from),
      ...parsePosition(last.position),
      textArrayLiteral([...minutes.keys()]),
      arrayLiteral([...minutes.values()]),
      textArrayLiteral([...hours.keys()]),
      arrayLiteral([...hours.values()]),
    ],
  )
  return rows[0]?.[0] === 1
}
