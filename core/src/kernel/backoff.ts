export interface Backoff {
  /** The first delay, in milliseconds. */
  baseMs: number
  /** What each further delay is multiplied by; 1 keeps it constant. */
  factor: number
  /** No delay is longer than this. */
  capMs: number
  /** 0..1: a delay may be shorter by up to this share, so that a crowd does not come back at one instant. */
  jitter: number
  /** Each further delay is longer by `baseMs` instead. */
  isLinear?: boolean
  /** The delays one by one instead; the last one repeats. None is capped. */
  listMs?: readonly number[]
}

/**
 * The delay after the `attempt`-th failure (1, 2, ...), in whole milliseconds: at least 1, at most `capMs`,
 * growing with `attempt`, for any attempt however large; of a list, what it says. `random` is in [0, 1).
 */
export function backoffDelay(backoff: Backoff, attempt: number, random: number): number {
  const full = fullDelay(backoff, attempt)
  return Math.max(1, Math.floor(full - full * backoff.jitter * random))
}

function fullDelay({ baseMs, factor, capMs, isLinear, listMs }: Backoff, attempt: number): number {
  if (listMs !== undefined) return listMs[Math.min(attempt, listMs.length) - 1] ?? baseMs
  // A power that overflows is Infinity, which the cap brings back; bit shifts would wrap around to 0 here.
  return Math.min(capMs, isLinear === true ? baseMs * attempt : baseMs * factor ** (attempt - 1))
}
