import type { z } from 'zod'
import { parseTime } from './at.ts'
import { compileTimes, readTime } from './compile.ts'
import { parseCron } from './cron.ts'
import { cronDialects } from './cron-dialect.ts'
import { readCron } from './cron-hash.ts'
import { plainSchedule } from './eventbridge.ts'
import { parseEvery } from './every.ts'
import { toWall } from './recurrence.ts'
import { ruleRefusal } from './rrule.ts'
import { parseSet } from './rrule-set.ts'
import type { CronSchedule, EverySchedule, RruleSchedule } from './schedule-shape.ts'
import { nativeZones } from './zone.ts'

type Context = z.core.$RefinementCtx

function refuse(context: Context, path: readonly (string | number)[], message: string): void {
  context.addIssue({ code: 'custom', path: [...path], message })
}

/** A wall-clock time in one of these fields needs a time zone. */
export function needsZone<Key extends string>(...keys: Key[]) {
  return (value: { [key in Key | 'timezone']?: string | undefined }, context: Context): void => {
    if (value.timezone !== undefined) return
    for (const key of keys) {
      const text = value[key]
      if (text !== undefined && parseTime(text)?.kind === 'wall')
        refuse(context, ['timezone'], `Required, because \`${key}\` has no offset`)
    }
  }
}

// Past every change that the zone data lists one by one: from here on a zone's last rule repeats.
const farFutureMs = Date.UTC(2090, 0, 1)
const yearZeroMs = -62_167_219_200_000
const nominalStartMs = Date.UTC(2000, 0, 1)

/** Reads the expression in its dialect; also when other fields are wrong, so that everything is told at once. */
export function checkCronText(hasHash: boolean) {
  return (schedule: CronSchedule, context: Context): void => {
    const plain = plainSchedule(schedule)
    if (plain.type === 'every') {
      const parsed = parseEvery(plain.every)
      if (!parsed.ok) refuse(context, ['cron'], parsed.detail)
    } else if (plain.type === 'at') {
      if (parseTime(plain.at)?.kind !== 'wall') refuse(context, ['cron'], 'Not a time such as at(2026-07-01T09:00:00)')
    } else {
      const parsed = parseCron(plain.cron, { dialect: plain.dialect, hasHash })
      if (!parsed.ok) for (const detail of parsed.details) refuse(context, ['cron'], detail)
    }
  }
}

/** For `superRefine`: the expression and its dialect have the right type, whatever else has not. */
export const hasCronText = {
  when: ({ value }: { value: unknown }): boolean => {
    const { cron, dialect = 'vixie' } = Object(value) as { cron?: unknown; dialect?: unknown }
    return typeof cron === 'string' && cronDialects.some((name) => name === dialect)
  },
}

/** What only the whole of a cron schedule shows: clock changes or bounds may leave nothing of it. */
export function checkCron(schedule: CronSchedule, context: Context): void {
  if (context.issues.length > 0) return // already reported on its own field
  const plain = plainSchedule(schedule)
  if (plain.type === 'every') checkEvery(plain, context)
  else if (plain.type === 'cron') checkTimes(plain, context)
  else
    for (const key of ['startAt', 'endAt', 'gap', 'fold'] as const)
      if (schedule[key] !== undefined) refuse(context, [key], 'A single time does not have this')
}

function checkTimes(schedule: CronSchedule, context: Context): void {
  const parsed = readCron(schedule)
  // What has a year may be over; everything else has to go on for ever.
  const from = parsed.ok && parsed.cron.fields.year ? yearZeroMs : farFutureMs
  if (compileTimes({ ...schedule, startAt: undefined, endAt: undefined }).next(from) === undefined)
    refuse(
      context,
      ['cron'],
      `Clock changes in ${schedule.timezone} leave out every time it asks for, so it would never run`,
    )
  else if (schedule.endAt !== undefined || (schedule.startAt !== undefined && from === yearZeroMs))
    checkBounds(schedule, context)
}

export function checkEvery(schedule: EverySchedule, context: Context): void {
  if (context.issues.length > 0) return
  const parsed = parseEvery(schedule.every)
  if (parsed.ok && parsed.step.kind === 'exact')
    for (const key of ['gap', 'fold'] as const)
      if (schedule[key] !== undefined)
        refuse(context, [key], 'Exact time knows no clock changes: only calendar units such as P1D can have this')
  const anchor = schedule.anchor ?? schedule.startAt
  if (context.issues.length === 0 && anchor !== undefined && schedule.endAt !== undefined)
    checkBounds({ ...schedule, anchor }, context)
}

export function checkRrule(schedule: RruleSchedule, context: Context): void {
  if (context.issues.length > 0) return
  const { set, problems, rulePaths } = parseSet(schedule)
  for (const { path, detail } of problems) refuse(context, path, detail)
  const zone = nativeZones.find(schedule.timezone)
  if (problems.length > 0 || !zone) return
  const start = set.dtstart ?? (schedule.startAt === undefined ? undefined : parseTime(schedule.startAt))
  for (const [index, rule] of set.rules.entries()) {
    // How an interval falls is known with its start only; until then the rule is held to what it can ever be.
    const refusal = start
      ? ruleRefusal(rule, toWall(start, zone))
      : ruleRefusal({ ...rule, interval: 1 }, nominalStartMs)
    if (refusal !== undefined) refuse(context, rulePaths[index] ?? ['rrule'], refusal)
  }
  if (context.issues.length > 0 || (set.rules.length > 0 && !start)) return
  const { startAt, endAt, ...unbounded } = schedule
  const dtstart = start && !set.dtstart ? { dtstart: startAt } : {}
  if (compileTimes({ ...unbounded, ...dtstart }).next(yearZeroMs) === undefined)
    refuse(context, ['rrule'], 'Its end, its exclusions or clock changes leave nothing of it, so it would never run')
  else if (startAt !== undefined || endAt !== undefined) checkBounds({ ...schedule, ...dtstart }, context)
}

/** Refuses bounds that hold no instant between them. */
function checkBounds(schedule: CronSchedule | EverySchedule | RruleSchedule, context: Context): void {
  const zone = nativeZones.find(schedule.timezone ?? 'UTC')
  const { startAt, endAt } = schedule
  if (zone && startAt !== undefined && endAt !== undefined && readTime(endAt, zone).at < readTime(startAt, zone).at)
    refuse(context, ['endAt'], 'It ends before it starts')
  else if (compileTimes(schedule).next(yearZeroMs) === undefined)
    refuse(
      context,
      [endAt === undefined ? 'startAt' : 'endAt'],
      'No time of it is within these bounds, so it would never run',
    )
}
