import type { NewJob } from '../job/job.ts'

/** What can be read. `crontab` is a user's file, `system-crontab` has a user in each line (`/etc/crontab`). */
export const importFormats = [
  'crontab',
  'system-crontab',
  'kubernetes',
  'eventbridge',
  'cloud-scheduler',
  'github-actions',
  'bullmq',
  'temporal',
] as const
export type ImportFormat = (typeof importFormats)[number]

export const differenceCodes = [
  'authorization',
  'clock-change',
  'command',
  'days',
  'delay',
  'environment',
  'fields',
  'limit',
  'mail',
  'overlap',
  'phase',
  'retry',
  'shell',
  'spread',
  'state',
  'user',
  'zone',
] as const

/** What deserves a second look. `isChange`: it will behave otherwise here; else it is kept, but may surprise. */
export interface Difference {
  code: (typeof differenceCodes)[number]
  isChange: boolean
  detail: string
}

export const changed = (code: Difference['code'], detail: string): Difference => ({ code, isChange: true, detail })
export const kept = (code: Difference['code'], detail: string): Difference => ({ code, isChange: false, detail })

/** What an entry does when it is due, in the terms of its system. */
export type Action =
  | {
      kind: 'command'
      /** The command line, the image and its arguments, the workflow, the ARN. */
      command: string
      user: string | null
      /** What the command reads from its standard input, or the input of a workflow. */
      input: unknown
      environment: Readonly<Record<string, string>>
    }
  | { kind: 'http'; target: NewJob['target'] }

export const command = (text: string, rest: Partial<Extract<Action, { kind: 'command' }>> = {}): Action => ({
  user: null,
  input: null,
  environment: {},
  ...rest,
  kind: 'command',
  command: text,
})

/** One entry of a source, as its format's reader understands it; whether it can become a job is decided later. */
export interface SourceEntry {
  /** Where it starts, from 1. */
  line: number
  /** As it is written there. */
  text: string
  /** Its name in its own system: the same for the same entry, however often and wherever in the file it comes. */
  key: string
  name: string
  description: string | null
  /** A schedule as a job would have it, not checked yet; null when there is none to be had. */
  schedule: unknown
  overlap: NonNullable<NewJob['overlap']>
  retry?: NewJob['retry']
  /** What else its system does, as a job says it. */
  rules?: Pick<NewJob, 'catchUp' | 'catchUpMax' | 'catchUpWindow' | 'pauseAfterFailures' | 'afterLastRun'>
  timeoutMs?: number | null
  /** It is switched off where it comes from. */
  isPaused: boolean
  action: Action
  differences: Difference[]
  problems: string[]
}

/** A line that is no entry but means something. */
export interface SourceNote {
  line: number
  text: string
  detail: string
}

export interface Source {
  entries: SourceEntry[]
  notes: SourceNote[]
  /** What keeps the whole of it from being read. */
  problems: { line: number; detail: string }[]
}

export interface ReadOptions {
  /** The zone of the machine that runs it, for entries that name none. */
  timezone: string
  /** The name of the file, when it has one. */
  fileName?: string | undefined
}

const textMax = 400

/** One line that shows where we are; sources may be long. */
export const excerpt = (text: string): string => (text.length > textMax ? `${text.slice(0, textMax - 1)}…` : text)
