import { type Meaning, meaningOf, type RunStatus } from './outcome.ts'

/** One past outcome of a job. */
export interface StripRun {
  id: string
  status: RunStatus
  at: number
  durationMs: number | undefined
}

/** One bar of the strip: how high (0 to 1) and what it means. */
export interface StripBar {
  run: StripRun
  meaning: Meaning
  height: number
}

const lowest = 0.25
const unknown = 0.45

/**
 * Bars for the last runs, oldest first. Height is the logarithm of the duration between the shortest and the
 * longest shown, so that a run ten times slower than usual stands out and milliseconds of noise do not.
 */
export function stripBars(runs: readonly StripRun[], count = 30): StripBar[] {
  const shown = runs.toSorted((one, other) => one.at - other.at).slice(-count)
  const durations = shown.flatMap(({ durationMs }) => (durationMs === undefined ? [] : [Math.max(durationMs, 1)]))
  // A spread below threefold is noise: drawing it over the whole height would make every job look restless.
  const low = Math.min(...durations)
  const spread = Math.max(Math.log(Math.max(...durations) / low), Math.log(3))
  return shown.map((run) => ({
    run,
    meaning: meaningOf(run.status),
    height:
      run.durationMs === undefined
        ? unknown
        : lowest + (1 - lowest) * (Math.log(Math.max(run.durationMs, 1) / low) / spread),
  }))
}
