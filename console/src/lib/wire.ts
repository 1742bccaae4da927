import type { RunStatus } from '#lib/draw/outcome.ts'
import type { Schedule } from '#lib/schedule/schedule.ts'

export interface Page<Item> {
  data: Item[]
  nextCursor: string | null
}

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

export interface Attempt {
  attempt: number
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  fence: number
  dueAt: string
  startedAt: string | null
  finishedAt: string | null
  durationMs: number | null
  httpStatus: number | null
  error: string | null
  retryAt: string | null
}

export interface RunRequest {
  method: string
  url: string
  headers: Record<string, string>
  timeoutMs: number
  body: string | null
  bodyEncoding: 'utf8' | 'base64'
}

export interface RunResponse {
  httpStatus: number
  headers: Record<string, string | string[]>
  body: string | null
  bodyEncoding: 'utf8' | 'base64'
  isTruncated: boolean
  redirectedTo: string | null
  objectKey: string | null
}

export interface LogLine {
  at: string
  attempt: number
  level: 'debug' | 'info' | 'warn' | 'error'
  message: string
}

export interface RunEvent {
  id: string
  type: string
  at: string
  subject: string | null
  jobId: string | null
  data: Record<string, unknown> | null
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

interface OpenDefinition {
  name: string
  description: string | null
  externalId: string | null
  tags: string[]
  schedule: Schedule | null
  queue: string
  overlap: 'skip' | 'allow'
  catchUp: 'one'
  retry: RetryPolicy
  priority: number
}

export interface JobDefinition extends OpenDefinition {
  target: HttpTarget
}

interface JobStatus {
  id: string
  version: number
  state: 'active' | 'paused'
  pausedAt: string | null
  pausedBy: string | null
  pauseReason: string | null
  nextAt: string | null
  createdAt: string
  updatedAt: string
}

export interface RecentRun {
  id: string
  status: RunStatus
  dueAt: string
  finishedAt: string
  durationMs: number | null
}

export interface JobSummary extends OpenDefinition, JobStatus {
  recent?: { runs: RecentRun[]; succeeded: number; failed: number; successRate: number | null }
}

export interface Job extends JobDefinition, JobStatus {
  isTargetReduced: boolean
}

export interface JobVersionSummary {
  version: number
  restoredFrom: number | null
  createdBy: string
  createdAt: string
  definition: OpenDefinition
}

export interface JobVersion extends JobVersionSummary {
  target: HttpTarget
  isTargetReduced: boolean
}

export interface Occurrence {
  nominalAt: string
  outcome: 'pending' | 'run' | 'skipped' | 'missed'
  reason: string | null
  runId: string | null
  isCaughtUp: boolean
  jobVersion: number
}

export interface Queue {
  id: string
  name: string
  concurrency: number
  pausedAt: string | null
  pausedBy: string | null
  pauseReason: string | null
  depth: { scheduled: number; ready: number; queued: number; running: number; isLowerBound: boolean }
}

export interface ApiKey {
  id: string
  name: string
  hint: string
  scopes: string[]
  createdBy: string
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
}

export interface HistogramBucket {
  from: string
  to: string
  counts: Partial<Record<RunStatus, number>>
}

export interface Upcoming {
  jobId: string
  jobName: string
  nominalAt: string
  effectiveAt: string
}
