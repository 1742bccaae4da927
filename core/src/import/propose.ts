import type { NewJob } from '../job/job.ts'
import { jobDefinitionValue } from '../job/job.ts'
import type { FieldProblem } from '../kernel/errors.ts'
import { toPointer } from '../kernel/parse.ts'
import { parseCron } from '../schedule/cron.ts'
import { describeSchedule } from '../schedule/describe.ts'
import { type FullSchedule, parseFullSchedule } from '../schedule/full-schedule.ts'
import { type CompiledSchedule, compileSchedule, nextOccurrences } from '../schedule/occurrences.ts'
import { anchorSchedule } from '../schedule/schedule.ts'
import { scheduleWarnings } from '../schedule/warnings.ts'
import { type Action, changed, type Difference, type ImportFormat, kept, type SourceEntry } from './entry.ts'
import { cronSystems, referenceInstants } from './reference.ts'
import { fillTarget, type TargetTemplate } from './target-template.ts'

/** An instant of one side, with the wall clock of the zone. */
export interface ProposedInstant {
  at: string
  local: string
  notes: string[]
}

/** What an entry becomes: a job, or what is in the way of one. */
export interface Proposal {
  line: number
  text: string
  externalId: string
  name: string
  description: string | null
  /** `ready` to be made; `needs-target`: only a template is missing; `refused`: see `problems`. */
  status: 'ready' | 'needs-target' | 'refused'
  job: NewJob | null
  action: Action
  isPaused: boolean
  schedule: FullSchedule | null
  /** The same in words. */
  words: string | null
  overlap: NonNullable<NewJob['overlap']>
  differences: Difference[]
  warnings: string[]
  /** Its next instants by the rules of its own system; null when only that system knows them. */
  theirs: ProposedInstant[] | null
  ours: ProposedInstant[]
  /** How many coming instants were reckoned apart by the rules of its own system, and found the same here. */
  comparedCount: number
  problems: FieldProblem[]
}

export interface ProposeOptions {
  format: ImportFormat
  /** What external ids start with, so that two machines do not take each other's jobs. */
  prefix: string
  template: TargetTemplate | null
  queue: string | undefined
  tags: readonly string[]
  after: Temporal.Instant
  /** Whether targets may lie at private addresses. */
  allowPrivate: boolean
  /** Coming instants to compare. */
  compareMax: number
}

const shownCount = 5
const externalIdMax = 200

/** Decides what an entry becomes. Pure: nothing is looked up, nothing is written. */
export function propose(entry: SourceEntry, options: ProposeOptions): Proposal {
  const { schedule, problems: scheduleProblems } = readSchedule(entry)
  const { target, problems: targetProblems } = fillTarget(entry, options)
  const timing = schedule === null ? null : readTiming(schedule, options)
  const externalId = `${options.prefix}${entry.key}`.slice(0, externalIdMax)
  const problems: FieldProblem[] = [
    ...entry.problems.map((detail) => ({ pointer: '', detail })),
    ...scheduleProblems,
    ...targetProblems,
    ...(timing !== null && timing.ours.length === 0
      ? [{ pointer: '/schedule', detail: 'It has no time left to come, so it would never run.' }]
      : []),
  ]
  const draft =
    problems.length === 0 && schedule !== null ? toJob(entry, { schedule, target, externalId, options }) : null
  problems.push(...(draft?.problems ?? []))
  const status = problems.length > 0 ? 'refused' : target === null ? 'needs-target' : 'ready'
  return {
    line: entry.line,
    text: entry.text,
    externalId,
    name: entry.name,
    description: entry.description,
    status,
    job: status === 'ready' ? (draft?.job ?? null) : null,
    action: entry.action,
    isPaused: entry.isPaused,
    schedule,
    overlap: entry.overlap,
    words: schedule === null ? null : describeSchedule(schedule),
    differences: [
      ...dayDifferences(schedule),
      ...(timing?.differences ?? []),
      ...entry.differences,
      ...pausedDifference(entry),
    ],
    warnings: timing?.warnings ?? [],
    theirs: timing?.theirs ?? null,
    ours: timing?.ours ?? [],
    comparedCount: timing?.comparedCount ?? 0,
    problems,
  }
}

function readSchedule(entry: SourceEntry): { schedule: FullSchedule | null; problems: FieldProblem[] } {
  if (entry.schedule === null) {
    const isTold = entry.problems.length > 0
    return { schedule: null, problems: isTold ? [] : [{ pointer: '/schedule', detail: 'It has no schedule.' }] }
  }
  const parsed = parseFullSchedule(entry.schedule)
  if (parsed.ok) return { schedule: parsed.schedule, problems: [] }
  return {
    schedule: null,
    problems: parsed.problems.map(({ pointer, detail }) => ({ pointer: `/schedule${pointer}`, detail })),
  }
}

interface Draft {
  schedule: FullSchedule
  target: NewJob['target'] | null
  externalId: string
  options: ProposeOptions
}

/** The job, held against everything a job has to be; with a stand-in where the target is still missing. */
function toJob(
  entry: SourceEntry,
  { schedule, target, externalId, options }: Draft,
): { job: NewJob; problems: FieldProblem[] } {
  const job: NewJob = {
    name: entry.name,
    description: entry.description,
    externalId,
    tags: [...options.tags],
    target: target ?? { type: 'http', url: 'https://example.com/' },
    schedule,
    ...(options.queue === undefined ? {} : { queue: options.queue }),
    overlap: entry.overlap,
    ...(entry.retry === undefined ? {} : { retry: entry.retry }),
    ...entry.rules,
  }
  const parsed = jobDefinitionValue.safeParse(job)
  if (parsed.success) return { job, problems: [] }
  return {
    job,
    problems: parsed.error.issues.map(({ path, message }) => ({ pointer: toPointer(path), detail: message })),
  }
}

interface Timing {
  theirs: ProposedInstant[] | null
  ours: ProposedInstant[]
  warnings: string[]
  differences: Difference[]
  comparedCount: number
}

function readTiming(schedule: FullSchedule, { format, after, compareMax }: ProposeOptions): Timing {
  const anchored = anchorSchedule(schedule, after)
  // How much later each starts is decided by the id of a job that is not made yet.
  const { jitter: _jitter, window: _window, ...times } = anchored
  const compiled = compileSchedule(times)
  const afterMs = after.epochMilliseconds
  const ours = nextOccurrences(compiled, after, shownCount).map(({ nominalAt, local, notes }) => ({
    at: nominalAt.toString({ fractionalSecondDigits: 3 }),
    local,
    notes: [...notes],
  }))
  // How two day fields are read is told as a difference.
  const warnings = scheduleWarnings(compiled, after, anchored !== schedule).filter(
    (text) => !text.startsWith('Both day fields'),
  )
  const theirs = theirInstants(schedule, { format, afterMs, compareMax })
  if (theirs === null)
    return { theirs: isKnownPhase(schedule) ? ours : null, ours, warnings, differences: [], comparedCount: 0 }
  const shown = theirs.slice(0, shownCount).map((at) => toInstant(at, compiled))
  const { comparedCount, differences } = compare(theirs, compiled, afterMs)
  return { theirs: shown, ours, warnings, differences, comparedCount }
}

/** What has an anchor of its own, or is one time, is the same wherever it is reckoned. */
const isKnownPhase = (schedule: FullSchedule): boolean =>
  schedule.type === 'at' ||
  (schedule.type === 'every' && schedule.anchor !== undefined) ||
  schedule.type === 'rrule' ||
  (schedule.type === 'cron' && !/^\s*rate\(/i.test(schedule.cron))

function theirInstants(
  schedule: FullSchedule,
  { format, afterMs, compareMax }: { format: ImportFormat; afterMs: number; compareMax: number },
): number[] | null {
  if (schedule.type !== 'cron' || schedule.startAt !== undefined || schedule.endAt !== undefined) return null
  return referenceInstants(schedule.cron, cronSystems[format], {
    timezone: schedule.timezone,
    afterMs,
    count: compareMax,
  })
}

function toInstant(at: number, { zone }: CompiledSchedule): ProposedInstant {
  const instant = Temporal.Instant.fromEpochMilliseconds(at)
  return {
    at: instant.toString({ fractionalSecondDigits: 3 }),
    local: instant.toZonedDateTimeISO(zone.id).toPlainDateTime().toString({ smallestUnit: 'second' }),
    notes: [],
  }
}

/** Walks both sides until they part. */
function compare(
  theirs: readonly number[],
  ours: CompiledSchedule,
  afterMs: number,
): { comparedCount: number; differences: Difference[] } {
  let previous = afterMs
  for (const [index, at] of theirs.entries()) {
    const own = ours.next(previous)?.at
    if (own !== at) {
      const [there, here] = [at, own].map((each) =>
        each === undefined ? 'nothing more' : toInstant(each, ours).local.replace('T', ' '),
      )
      return {
        comparedCount: index,
        differences: [changed('clock-change', `The two part at ${there} there, ${here} here.`)],
      }
    }
    previous = at
  }
  return { comparedCount: theirs.length, differences: [] }
}

function dayDifferences(schedule: FullSchedule | null): Difference[] {
  if (schedule?.type !== 'cron') return []
  const parsed = parseCron(schedule.cron, { dialect: schedule.dialect })
  if (!parsed.ok) return []
  const { dayOfMonth, dayOfWeek } = parsed.cron.fields
  if ([dayOfMonth.text, dayOfWeek.text].some((text) => text === '*' || text === '?')) return []
  return [
    kept(
      'days',
      parsed.cron.days === 'either'
        ? 'Both day fields are set: it runs on days that match either, there and here. Temporal and some others ask for both.'
        : 'Both day fields are set and one starts with `*`: it runs on days that match both, there and here.',
    ), // prettier-ignore
  ]
}

const pausedDifference = ({ isPaused }: SourceEntry): Difference[] =>
  isPaused ? [kept('state', 'It is switched off there: its job is made paused.')] : []
