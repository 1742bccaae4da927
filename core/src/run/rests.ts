/** Why instants of a rest do not run. */
export type RestReason = 'paused' | 'archived' | 'removed'

/** The columns of a rest, as `restOf` gives them. */
export const restColumns = `tenant_id, job_id, until_at, project_id, queue_id, pool, shard_id, job_version, spec, overlap, catch_up,
  catch_up_max, catch_up_window_ms, grace_seconds, priority, attempts_max, runs_left, next_at, reason`

/** A rest of schedule `s`, with its rules as they are; the values are SQL. */
export const restOf = (s: string, rest: { from: string; until: string; runsLeft: string; reason: string }): string =>
  `${s}.tenant_id, ${s}.job_id, ${rest.until}, ${s}.project_id, ${s}.queue_id, ${s}.pool, ${s}.shard_id, ${s}.job_version, ${s}.spec,
  ${s}.overlap, ${s}.catch_up, ${s}.catch_up_max, ${s}.catch_up_window_ms, ${s}.grace_seconds, ${s}.priority, ${s}.attempts_max,
  ${rest.runsLeft}, ${rest.from}, ${rest.reason}`

/**
 * A rest of one instant that a person edited: it is decided at once, whenever it is due, as its schedule is by then, if
 * the ledger still waits for it.
 */
export const editedRestOf = (s: string, nominal: string): string =>
  restOf(s, { from: nominal, until: nominal, runsLeft: 'null::int', reason: "'edited'" })
