import { toDuration } from '../kernel/duration.ts'
import type { Part } from './document.ts'
import type { SourceEntry } from './entry.ts'
import { goDurationMs } from './go-duration.ts'

const overlaps: Readonly<Record<string, SourceEntry['overlap']>> = {
  ALLOW_ALL: 'allow',
  BUFFER_ONE: 'queue-one',
  BUFFER_ALL: 'queue-all',
  CANCEL_OTHER: 'cancel-running',
  TERMINATE_OTHER: 'cancel-running',
}

/** What happens while the last workflow is still going. */
export const toOverlap = (policy = ''): SourceEntry['overlap'] =>
  overlaps[policy.replace('SCHEDULE_OVERLAP_POLICY_', '')] ?? 'skip'

const windowMinMs = 60_000
const windowMaxMs = 8_784 * 3_600_000

/** How late it makes up for what it missed, and what a failure does. A year is its own default. */
export function toRules(schedule: Part): NonNullable<SourceEntry['rules']> {
  const policies = schedule.get('policies')
  const windowMs = goDurationMs(policies.get('catchupWindow').text ?? '') ?? 365 * 86_400_000
  return {
    catchUp: 'all',
    catchUpMax: 1_000,
    catchUpWindow: toDuration(Math.min(windowMaxMs, Math.max(windowMinMs, windowMs))),
    ...(policies.get('pauseOnFailure').value === true ? { pauseAfterFailures: 1 } : {}),
  }
}

const jitterMaxMs = 86_400_000

/** How much later an action may start, as a duration; undefined for none. */
export function jitterOf(spec: Part): string | undefined {
  const ms = goDurationMs(spec.get('jitter').text ?? '') ?? 0
  return ms >= 1_000 ? toDuration(Math.min(jitterMaxMs, ms)) : undefined
}
