import type { RunStatus } from '#lib/draw/outcome.ts'
import type { Schedule } from '#lib/schedule/schedule.ts'

export interface Run {
  id: string
  status: RunStatus
  source: 'api' | 'schedule' | 'manual' | 'replay'
  jobId: string | null
  jobVersion: number | null
  queue: string
  priority: number
  attempt: number
  attemptsMax: number | null
  createdAt: string
  dueAt: string
  nominalAt: string | null
  startedAt: string | null
  finishedAt: string | null
  durationMs: number | null
  latenessMs: number | null
  httpStatus: number | null
  error: string | null
  replayOf: string | null
}

export interface HttpTarget {
  type: 'http'
  url: string
  method?: string
  headers?: Record<string, string>
  body?: unknown
  timeout?: string
}

export interface RetryPolicy {
  limit?: number
  delay?: string
  factor?: number
  maxDelay?: string
  jitter?: number
}

export interface JobDefinition {
  name: string
  description: string | null
  externalId: string | null
  tags: string[]
  target: HttpTarget
  schedule: Schedule | null
  queue: string
  overlap: 'skip' | 'allow'
  catchUp: 'one'
  retry: RetryPolicy
  priority: number
}
