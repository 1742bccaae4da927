import type { RecentRun, Run } from '@meridian/sdk'
import type { StripRun } from '#lib/draw/strip.ts'

/** Runs as the strip draws them: a run that still goes on stands where it was due. */
export function stripRuns(runs: readonly (Run | RecentRun)[]): StripRun[] {
  return runs
    .filter((run) => run.status !== 'scheduled')
    .map((run) => ({
      id: run.id,
      status: run.status,
      at: Date.parse(run.finishedAt ?? run.dueAt),
      durationMs: run.durationMs ?? undefined,
    }))
}
