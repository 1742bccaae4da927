import type { Log } from '@meridian/core/kernel/log'
import { type Metrics, secondsBuckets } from '@meridian/core/kernel/metrics'

export interface FinishedRequest {
  requestId: string
  method: string
  /** The path of the operation, never the one that was sent: it names no ids and is one of a closed set. */
  route: string
  status: number
  durationMs: number
  tenantId?: string | undefined
  projectId?: string | undefined
  actor?: string | undefined
  error?: unknown
}

export interface RequestLog {
  /** One line and one observation a request. */
  finish(request: FinishedRequest): void
}

export function createRequestLog(parent: Log, metrics: Metrics): RequestLog {
  // Looking for secrets costs ten times the line itself, and these few fields are all our own.
  const log = parent.child({}, { redact: [] })
  const duration = metrics.meter.createHistogram('meridian_http_request_duration_seconds', {
    description: 'Time from the head of a request to its answer',
    unit: 's',
    advice: { explicitBucketBoundaries: secondsBuckets },
  })
  const labels = new Map<string, { method: string; route: string; status: number }>()
  const labelsOf = ({ method, route, status }: FinishedRequest) => {
    const key = `${method} ${route} ${status}`
    const known = labels.get(key)
    if (known !== undefined) return known
    const made = { method, route, status }
    labels.set(key, made)
    return made
  }
  return {
    finish(request) {
      duration.record(request.durationMs / 1_000, labelsOf(request))
      const { error, ...line } = request
      if (error !== undefined && request.status >= 500) parent.error({ ...line, err: error }, 'request failed')
      else log.info(line, 'request')
    },
  }
}
