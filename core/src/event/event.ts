import type { Uuid } from '../kernel/ids.ts'

/** Every fact that is told. A new one is added here, in `docs/events.md`, and nowhere else. */
export const eventTypes = [
  'run.created',
  'runs.created',
  'run.debounced',
  'run.retrying',
  'run.rescued',
  'run.held',
  'run.preempted',
  'run.stuck',
  'run.unstuck',
  'run.succeeded',
  'run.failed',
  'run.cancelled',
  'run.expired',
  'run.skipped',
  'dead-letter.quarantined',
  'dead-letter.redriven',
  'dead-letter.discarded',
  'dead-letter.reopened',
  'occurrence.missed',
  'occurrence.skipped',
  'occurrence.edited',
  'job.created',
  'job.updated',
  'job.paused',
  'job.resumed',
  'job.archived',
  'job.unarchived',
  'job.deleted',
  'job.moved',
  'job.stuck',
  'job.unstuck',
  'job.repaired',
  'job.shadowed',
  'job.switched',
  'job.pinged',
  'queue.created',
  'queue.updated',
  'queue.paused',
  'queue.resumed',
  'breaker.opened',
  'breaker.recovered',
  'breaker.closed',
  'breaker.configured',
  'limit.created',
  'limit.updated',
  'limit.deleted',
  'limit.paused',
  'limit.resumed',
  'limit.pinned',
  'limit.unpinned',
  'share.updated',
  'breaker.stuck',
  'breaker.unstuck',
  'certificate.mismatch',
  'calendar.created',
  'calendar.updated',
  'calendar.deleted',
  'blackout.created',
  'blackout.updated',
  'blackout.deleted',
  'project.created',
  'project.updated',
  'key.created',
  'key.revoked',
  'operation.created',
  'operation.progressed',
  'operation.paused',
  'operation.resumed',
  'operation.aborted',
  'operation.finished',
  'operation.stuck',
  'operation.unstuck',
  'import.created',
  'import.switched',
  'test-clock.created',
  'test-clock.advanced',
  'test-clock.deleted',
  'partition.overflow',
] as const
export type EventType = (typeof eventTypes)[number]

/** An event as it is appended. `subject` is what it is about; `jobId` the job it concerns, when there is one. */
export interface NewEvent {
  type: EventType
  subject: Uuid
  jobId?: Uuid
  data?: Record<string, unknown>
}

/** An event as it is read. `position` orders all events of a shard; readers may resume behind it. */
export interface StoredEvent {
  position: string
  tenantId: Uuid
  projectId: Uuid | null
  type: EventType
  subject: Uuid | null
  jobId: Uuid | null
  at: Date
  data: Record<string, unknown> | null
}
