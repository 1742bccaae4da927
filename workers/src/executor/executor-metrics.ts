import { type Metrics, secondsBuckets } from '@meridian/core/kernel/metrics'
import type { Performed } from './perform-run.ts'

export interface ExecutorMetrics {
  observe(performed: Performed): void
}

/** What an executor measures, with label objects made once: this is the hot path. */
export function createExecutorMetrics({ meter }: Metrics): ExecutorMetrics {
  const attempts = meter.createCounter('meridian_attempts_total', { description: 'Attempts made, by outcome' })
  const lateness = meter.createHistogram('meridian_lateness_seconds', {
    description: 'First byte on the socket minus the due instant, first attempts only',
    advice: { explicitBucketBoundaries: secondsBuckets },
  })
  const duration = meter.createHistogram('meridian_attempt_duration_seconds', {
    description: 'How long attempts took',
    advice: { explicitBucketBoundaries: secondsBuckets },
  })
  const labels = new Map<string, { outcome: string }>()
  const labelsOf = (outcome: string): { outcome: string } => {
    let known = labels.get(outcome)
    if (known === undefined) {
      known = { outcome }
      labels.set(outcome, known)
    }
    return known
  }
  return {
    observe({ run, outcome, startedAtMs }) {
      attempts.add(1, labelsOf(outcome.status === 'succeeded' ? 'succeeded' : outcome.errorClass))
      duration.record(outcome.durationMs / 1_000)
      if (run.attempt === 1 && startedAtMs !== null) lateness.record(Math.max(0, startedAtMs - run.dueAtMs) / 1_000)
    },
  }
}
