import type { QueueClass } from '../flow/classes.ts'
import type { Uuid } from '../kernel/ids.ts'

/** Why a run has not run, or a job does not: a closed list, told to tenants. What can be waited for comes before `running`. */
export const whyCodes = [
  'not-due',
  'waits-for-retry',
  'waits-for-earlier-run',
  'waits-for-batch',
  'waits-for-test-clock',
  'queue-paused',
  'queue-full',
  'limit-paused',
  'limit-full',
  'limit-rate',
  'tenant-paused',
  'tenant-full',
  'breaker-open',
  'no-executor',
  'pool-full',
  'class-waits',
  'preempted',
  'next-in-line',
  'on-its-way',
  'running',
  'deadline-passed',
  'backlog-full',
  'skipped',
  'cancelled',
  'failed',
  'succeeded',
  'job-archived',
  'job-paused',
  'in-shadow',
  'no-schedule',
  'schedule-over',
  'blackout',
  'calendar',
  'scheduler-behind',
  'last-skipped',
  'last-missed',
] as const
export type WhyCode = (typeof whyCodes)[number]

/** What a reason is seen by; only what there is. */
export interface Evidence {
  runIds?: Uuid[]
  jobId?: Uuid
  queue?: string
  /** Of the queue. */
  class?: QueueClass
  host?: string
  limitId?: Uuid
  /** The value of a limit's key. */
  key?: string
  /** As the audit trail writes actors. */
  by?: string
  reason?: string
  since?: Date
  until?: Date
  at?: Date
  attempt?: number
  attemptsMax?: number
  error?: string
  /** Slots, or whatever is limited. */
  limit?: number
  used?: number
  /** How many are before it. */
  ahead?: number
  name?: string
}

/** One reason, what it is seen by, and when it is expected to be over; null: nobody can tell. */
export interface Reason {
  code: WhyCode
  /** The same in a sentence. */
  detail: string
  evidence: Evidence
  expectedAt: Date | null
}

/** All reasons that hold now, the one that decides first. */
export interface Why {
  reasons: Reason[]
  /** Whether it waits: for its instant, or until something lets it go on. */
  isWaiting: boolean
  /** When it is expected to go on; null: nobody can tell, or it is over. */
  expectedAt: Date | null
  /** When it expires, should it still wait by then. */
  expiresAt: Date | null
}

/** What keeps nothing from going on. */
const asides: ReadonlySet<WhyCode> = new Set(['preempted', 'running', 'last-skipped', 'last-missed'])

const waitingCodes: ReadonlySet<WhyCode> = new Set(whyCodes.slice(0, whyCodes.indexOf('running')))

/** The answer of reasons: what holds longest decides when it goes on, and nobody can tell where one is open. */
export function whyOf(reasons: Reason[], expiresAt: Date | null = null): Why {
  const instants = reasons
    .filter(({ code }) => !asides.has(code))
    .map(({ expectedAt }) => expectedAt?.getTime() ?? Number.NaN)
  const latest = instants.length === 0 ? Number.NaN : Math.max(...instants)
  const isWaiting = reasons.some(({ code }) => waitingCodes.has(code))
  return { reasons, isWaiting, expectedAt: Number.isNaN(latest) ? null : new Date(latest), expiresAt }
}

/** What is there of evidence that may not be. */
export function evidenceOf(values: { [Key in keyof Evidence]: Evidence[Key] | null | undefined }): Evidence {
  const known = Object.entries(values).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(known) as Evidence
}
