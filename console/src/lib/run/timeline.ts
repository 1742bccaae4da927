import type { Attempt, Run } from '@meridian/sdk'
import type { TimelineAttempt } from '#lib/draw/timeline.ts'

const milliseconds = (instant: string | null): number | undefined =>
  instant === null ? undefined : Date.parse(instant)

/** When the call ended. What the API calls finished is when that was written down, a moment later. */
function endOf({ startedAt, finishedAt, durationMs }: Attempt): number | undefined {
  if (startedAt === null || durationMs === null) return milliseconds(finishedAt)
  return Date.parse(startedAt) + durationMs
}

/** The attempts of a run for its timeline, with the one that is still waited for. */
export function timelineAttempts(run: Run, attempts: readonly Attempt[]): TimelineAttempt[] {
  const begun = attempts.map(
    (attempt): TimelineAttempt => ({
      number: attempt.attempt,
      dueAt: Date.parse(attempt.dueAt),
      queuedAt: undefined,
      startedAt: milliseconds(attempt.startedAt),
      finishedAt: endOf(attempt),
      outcome: attempt.status === 'running' ? undefined : attempt.status,
    }),
  )
  const isWaiting = run.status === 'scheduled' || run.status === 'ready' || run.status === 'queued'
  if (!isWaiting) return begun
  const next = (attempts.at(-1)?.attempt ?? 0) + 1
  const waited = {
    number: next,
    dueAt: Date.parse(run.dueAt),
    queuedAt: undefined,
    startedAt: undefined,
    finishedAt: undefined,
  }
  return [...begun, { ...waited, outcome: undefined }]
}
