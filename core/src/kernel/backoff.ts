export interface Backoff {
  /** The first delay, in milliseconds. */
  baseMs: number
  /** What each further delay is multiplied by; 1 keeps it constant. */
  factor: number
  /** No delay is longer than this. */
  capMs: number
  /** 0..1: a delay may be shorter by up to this share, so that a crowd does not come back at one instant. */
  jitter: number
}

/**
 * The delay after the `attempt`-th failure (1, 2, ...), in whole milliseconds: at least 1, at most `capMs`,
 * growing with `attempt`, for any attempt however large. `random` is in [0, 1).
 */
export function backoffDelay({ baseMs, factor, capMs, jitter }: Backoff, attempt: number, random: number): number {
  // A power that overflows is Infinity, which the cap brings back; bit shifts would wrap around to 0 here.
  const full = Math.min(capMs, baseMs * factor ** (attempt - 1))
  return Math.max(1, Math.floor(full - full * jitter * random))
}
