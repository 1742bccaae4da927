import type { EventType } from '../event/event.ts'
import type { Uuid } from '../kernel/ids.ts'

/** What of a tenant can stand still, and what is told of it. */
export const alarmKinds = {
  'schedule-stuck': { noun: 'job', raised: 'job.stuck', cleared: 'job.unstuck' },
  'schedule-astray': { noun: 'job', raised: 'job.stuck', cleared: 'job.unstuck' },
  'lease-stuck': { noun: 'run', raised: 'run.stuck', cleared: 'run.unstuck' },
  'operation-stuck': { noun: 'operation', raised: 'operation.stuck', cleared: 'operation.unstuck' },
  'breaker-stuck': { noun: 'breaker', raised: 'breaker.stuck', cleared: 'breaker.unstuck' },
} as const satisfies Record<string, { noun: string; raised: EventType; cleared: EventType }>

export type AlarmKind = keyof typeof alarmKinds
export const alarmKindNames = Object.keys(alarmKinds) as AlarmKind[]

/** Those that one look finds wherever they are. For schedules that have gone astray it takes a round of looks. */
export type PromptAlarmKind = Exclude<AlarmKind, 'schedule-astray'>
export const promptAlarmKinds = alarmKindNames.filter((kind): kind is PromptAlarmKind => kind !== 'schedule-astray')

/** Those that a repair sets right. */
export const scheduleAlarmKinds = ['schedule-stuck', 'schedule-astray'] as const satisfies AlarmKind[]

/** What of the installation can. */
export const installationAlarmKinds = [
  'dispatch-stuck',
  'events-stuck',
  'deadlines-stuck',
  'partitions-missing',
  'partition-overflow',
] as const
export type InstallationAlarmKind = (typeof installationAlarmKinds)[number]

/** Something that stands still. */
export interface Alarm {
  kind: AlarmKind
  subject: Uuid
  /** Of the job, or the host of the breaker. */
  name: string | null
  /** Since when it should have moved. */
  since: Date
  raisedAt: Date
  clearedAt: Date | null
}

export interface InstallationAlarm {
  kind: InstallationAlarmKind
  /** Of the pool or the table. */
  name: string
  since: Date
  raisedAt: Date
}

/** What stands still as one caller may see it. */
export interface Alarms {
  alarms: Alarm[]
  installation: InstallationAlarm[]
  /** When the watchdog last looked; null: it never has. */
  watchedAt: Date | null
  /** It has not looked for so long that nobody can tell what stands still. */
  isWatchdogSilent: boolean
}
