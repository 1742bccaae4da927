import type { Pool } from '../../src/db/client.ts'

const offset = (column: string): string => `round(extract(epoch from ${column}) - $1)::int`

/** What there is to see of everything that was done, in words that are the same whenever it was done. */
const lines: Record<string, string> = {
  jobs: "concat_ws(' ', state, version, pause_until is null, archived_at is null)",
  job_versions: 'version::text',
  schedules: `concat_ws(' ', paused, ${offset('next_at')}, runs_left, job_version, tz_version <> 'old')`,
  schedule_rests: `concat_ws(' ', ${offset('next_at')}, reason)`,
  occurrences: `concat_ws(' ', ${offset('nominal_at')}, ${offset('until_at')}, count, outcome, reason, caught_up, moved, run_id is null)`,
  due: `concat_ws(' ', pool, attempt, fence, overlap, ${offset('nominal_at')})`,
  ready: `concat_ws(' ', pool, attempt, fence, ${offset('nominal_at')})`,
  held: `concat_ws(' ', state, attempt, fence, ${offset('nominal_at')})`,
  runs: `concat_ws(' ', state, attempt, error, ${offset('nominal_at')})`,
  attempts: "concat_ws(' ', attempt, error)",
  inputs: `concat_ws(' ', source, replay_of is null, ${offset('nominal_at')})`,
  run_deadlines: "concat_ws(' ', start_by is null, end_by is null)",
  backfills: `${offset('nominal_at')}::text`,
  operations: "concat_ws(' ', kind, state, total, done, unchanged, failed, undo_of is null, undone_by is null)",
  operation_items: "concat_ws(' ', position, state, before is null)",
  dead_letters: "concat_ws(' ', state, error, failures, handling)",
  test_clocks: `concat_ws(' ', ${offset('now_at')}, ${offset('target_at')}, cardinality(open_runs))`,
  events: 'type',
  audit_entries: 'action',
}
const tables = Object.keys(lines)

const everything = tables
  .map(
    (table) =>
      `select '${table}: ' || coalesce(${lines[table]}, '') as line from ${table} where $1::float8 is not null`,
  )
  .join(' union all ')

/** The whole of what the database holds of jobs and their runs, in order; instants in seconds after one. */
export async function footprint(owner: Pool, sinceMs: number): Promise<string[]> {
  const { rows } = await owner.query<{ line: string }>({
    name: 'footprint',
    text: everything,
    values: [sinceMs / 1_000],
  })
  return rows.map(({ line }) => line).toSorted()
}

/** Leaves nothing of it. */
export const wipe = (owner: Pool): Promise<unknown> =>
  owner.query(
    tables
      .map((table) => `delete from ${table}`)
      .join('; ')
      .replace('delete from job_versions; ', ''),
  )
