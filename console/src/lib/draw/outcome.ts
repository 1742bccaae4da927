import type { RunStatus } from '@meridian/sdk'

export type { RunStatus }

/** The meanings a colour and a shape may have. Nothing else is ever drawn in these colours. */
export type Meaning = 'succeeded' | 'failed' | 'running' | 'waiting' | 'quiet'

const meanings: Record<RunStatus, Meaning> = {
  scheduled: 'waiting',
  ready: 'waiting',
  queued: 'waiting',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  expired: 'failed',
  cancelled: 'quiet',
  skipped: 'quiet',
}

export const runStatuses = Object.keys(meanings) as RunStatus[]

const openStatuses: ReadonlySet<string> = new Set(['scheduled', 'ready', 'queued', 'running'])

/** What a run's status means to the reader. */
export const meaningOf = (status: RunStatus): Meaning => meanings[status]

/** Whether the run may still change. */
export const isOpen = (status: RunStatus): boolean => openStatuses.has(status)
