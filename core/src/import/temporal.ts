import { toDuration } from '../kernel/duration.ts'
import { isInterval, toNickname } from './cron-text.ts'
import { allValues, ranges, toField, valuesOf } from './cron-values.ts'
import { type Part, readDocuments } from './document.ts'
import { changed, command, type Difference, excerpt, kept, type Source, type SourceEntry } from './entry.ts'
import { goDurationMs } from './go-duration.ts'
import { jitterOf, toOverlap, toRules } from './temporal-policies.ts'

/** Reads schedules of Temporal: what `temporal schedule describe --output json` prints, one or a list of them. */
export function readTemporal(text: string): Source {
  const { parts, problems } = readDocuments(text)
  const source: Source = { entries: [], notes: [], problems }
  for (const part of parts)
    for (const item of Array.isArray(part.value) ? part.items() : [part]) {
      if (item.get('schedule').get('spec').isMap) source.entries.push(...readSchedule(item))
      else
        source.notes.push({
          line: item.line,
          text: excerpt(item.written),
          detail: 'No schedule of Temporal: nothing to import.',
        })
    }
  return source
}

interface Timing {
  at: Part
  schedule: unknown
  notes?: Difference[]
  problem?: string
}

function readSchedule(part: Part): SourceEntry[] {
  const schedule = part.get('schedule')
  const spec = schedule.get('spec')
  const workflow = schedule.get('action').get('startWorkflow')
  const id = part.get('scheduleId').text ?? workflow.get('workflowId').text ?? ''
  const state = schedule.get('state')
  const left = state.get('limitedActions').value === true ? (state.get('remainingActions').number ?? 0) : undefined
  const timings = readSpec(spec, left)
  const shared = sharedDifferences(schedule)
  const problems = [
    ...(left !== undefined && left < 1 ? ['It has no action left: it has ended.'] : []),
    ...(id === '' ? ['It has neither a `scheduleId` nor a `workflowId`.'] : []),
    ...(['excludeCalendar', 'excludeStructuredCalendar'].some((name) => spec.get(name).items().length > 0)
      ? [
          'It leaves times out (`excludeStructuredCalendar`), which a job does with a calendar: make that first, then the job.',
        ]
      : []),
  ]
  if (timings.length === 0)
    timings.push({ at: spec, schedule: null, problem: 'Its spec holds no calendar, interval or cron string.' })
  return timings.map(({ at, schedule: own, notes = [], problem }, index) => ({
    line: at.line,
    text: excerpt(at.written),
    key: timings.length === 1 ? id : `${id}#${index + 1}`,
    name: timings.length === 1 ? id || 'Schedule' : `${id || 'Schedule'} (${index + 1})`,
    description: schedule.get('state').get('notes').text || null,
    schedule: own,
    overlap: toOverlap(schedule.get('policies').get('overlapPolicy').text),
    retry: { limit: 0 },
    rules: toRules(schedule),
    isPaused: schedule.get('state').get('paused').value === true,
    action: command(workflow.get('workflowType').get('name').text ?? '', { input: readInput(workflow.get('input')) }),
    differences: [...notes, ...shared],
    problems: problem === undefined ? problems : [...problems, problem],
  }))
}

function sharedDifferences(schedule: Part): Difference[] {
  const spec = schedule.get('spec')
  const policies = schedule.get('policies')
  const differences: Difference[] = []
  if (spec.get('timezoneName').text === undefined) differences.push(kept('zone', 'No `timezoneName`: UTC, as there.'))
  if (jitterOf(spec) !== undefined) differences.push(kept('spread', 'Starts up to its `jitter` later, there and here.'))
  const policy = policies.get('overlapPolicy').text ?? ''
  if (policy.endsWith('TERMINATE_OTHER'))
    differences.push(changed('overlap', '`TERMINATE_OTHER` kills the run that is going; here it is cancelled.'))
  differences.push(
    changed('command', 'Starts a workflow there; here a request that has to start it. Tries belong to the workflow.'),
  )
  return differences
}

function readSpec(spec: Part, left: number | undefined): Timing[] {
  const timezone = spec.get('timezoneName').text || 'UTC'
  const jitter = jitterOf(spec)
  const bounds = {
    ...(jitter === undefined ? {} : { jitter }),
    ...(left === undefined ? {} : { maxRuns: left }),
    ...(spec.get('startTime').text === undefined ? {} : { startAt: millis(spec.get('startTime').text) }),
    ...(spec.get('endTime').text === undefined ? {} : { endAt: millis(spec.get('endTime').text) }),
  }
  return [
    ...spec
      .get('structuredCalendar')
      .items()
      .map((at) => fromFields(at, structuredFields(at), { timezone, bounds })),
    ...spec
      .get('calendar')
      .items()
      .map((at) => fromFields(at, calendarFields(at), { timezone, bounds })),
    ...spec
      .get('cronString')
      .items()
      .map((at) => fromCron(at, { timezone, bounds })),
    ...spec
      .get('interval')
      .items()
      .map((at) => fromInterval(at, at.get('interval').text, at.get('phase').text, bounds)),
  ]
}

// Instants of a protobuf may be finer than ours.
const millis = (text = ''): string => text.replace(/(\.\d{3})\d+/, '$1')

type Fields = Record<keyof typeof ranges, Set<number> | null>
type Bounds = Readonly<Record<string, string | number>>

interface Frame {
  timezone: string
  bounds: Bounds
}

const fieldNames = {
  second: 'second',
  minute: 'minute',
  hour: 'hour',
  day: 'dayOfMonth',
  month: 'month',
  weekday: 'dayOfWeek',
  year: 'year',
} as const
const eachField = (read: (name: keyof typeof ranges) => Set<number> | null): Fields =>
  Object.fromEntries((Object.keys(fieldNames) as (keyof typeof ranges)[]).map((name) => [name, read(name)])) as Fields

/** What is left out is all of it, but zero for the time of day. */
const isWhole = (name: keyof typeof ranges): boolean => ['day', 'month', 'weekday', 'year'].includes(name)
function structuredFields(at: Part): Fields {
  return eachField((name) => {
    const items = at.get(fieldNames[name]).items()
    if (items.length === 0) return isWhole(name) ? allValues(ranges[name]) : new Set([0])
    const values = new Set<number>()
    for (const item of items) {
      const start = item.get('start').number ?? 0
      const end = Math.max(start, item.get('end').number ?? start)
      if (start < 0 || end > ranges[name].max) return null
      const step = Math.max(1, item.get('step').number ?? 1)
      for (let value = start; value <= end; value += step) values.add(name === 'weekday' ? value % 7 : value)
    }
    return values
  })
}

function calendarFields(at: Part): Fields {
  return eachField((name) => {
    const text = at.get(fieldNames[name]).text
    if (text === undefined || text === '') return isWhole(name) ? allValues(ranges[name]) : new Set([0])
    return fieldValues(name, text)
  })
}

function fieldValues(name: keyof typeof ranges, text: string): Set<number> | null {
  const values = valuesOf(text, ranges[name])
  return values && name === 'weekday' ? new Set([...values].map((value) => value % 7)) : values
}

function fromCron(at: Part, frame: Frame): Timing {
  const written = (at.text ?? '').replace(/#.*$/s, '').trim()
  const [, zone, rest = written] = /^(?:CRON_TZ|TZ)=(\S+)\s+(.*)$/s.exec(written) ?? []
  const [, interval, phase] = /^@every\s+([^/\s]+)(?:\/(\S+))?$/.exec(rest) ?? []
  if (interval !== undefined) return fromInterval(at, interval, phase, frame.bounds)
  const texts = toNickname(rest).split(/\s+/)
  if (texts.length < 5 || texts.length > 7)
    return { at, schedule: null, problem: `A cron string has 5 to 7 fields, this has ${texts.length}.` }
  const padded = texts.length === 5 ? ['0', ...texts, '*'] : texts.length === 6 ? ['0', ...texts] : texts
  const order = ['second', 'minute', 'hour', 'day', 'month', 'weekday', 'year'] as const
  const fields = eachField((name) => {
    const text = padded[order.indexOf(name)] ?? '*'
    return /^[*?]$/.test(text) ? allValues(ranges[name]) : fieldValues(name, text)
  })
  return fromFields(at, fields, { ...frame, timezone: zone ?? frame.timezone })
}

function fromFields(at: Part, fields: Fields, { timezone, bounds }: Frame): Timing {
  const { second, minute, hour, day, month, weekday, year } = fields
  if (!second || !minute || !hour || !day || !month || !weekday || !year)
    return {
      at,
      schedule: null,
      problem: "A field of its calendar holds what can't be read as numbers, ranges and steps.",
    }
  const years = yearBounds(year, bounds)
  if (years === null)
    return {
      at,
      schedule: null,
      problem: 'It runs in some years only, with gaps between them: make a job for each stretch.',
    }
  // Clock times are taken literally: none when there is none, two when there are two.
  const literal = timezone === 'UTC' ? {} : { gap: 'skip', fold: 'both' }
  if (day.size < 31 && weekday.size < 7) {
    const parts = [
      'FREQ=DAILY',
      ...(month.size < 12 ? [`BYMONTH=${list(month)}`] : []),
      `BYMONTHDAY=${list(day)}`,
      `BYDAY=${sorted(weekday)
        .map((value) => 'SU MO TU WE TH FR SA'.split(' ')[value])
        .join(',')}`,
      `BYHOUR=${list(hour)}`,
      `BYMINUTE=${list(minute)}`,
      `BYSECOND=${list(second)}`,
    ]
    return {
      at,
      schedule: { type: 'rrule', rrule: parts.join(';'), timezone, ...literal, ...years },
      notes: [
        kept(
          'days',
          'Both day fields are set: Temporal runs on days that match both, so it becomes a recurrence rule that says so.',
        ),
      ],
    }
  }
  const texts = [
    toField(minute, ranges.minute),
    toField(hour, ranges.hour),
    toField(day, ranges.day),
    toField(month, ranges.month),
    toField(weekday, ranges.weekday),
  ]
  const cron = [...(second.size === 1 && second.has(0) ? [] : [toField(second, ranges.second)]), ...texts].join(' ')
  return { at, schedule: { type: 'cron', cron, timezone, ...(isInterval(cron, 'vixie') ? {} : literal), ...years } }
}

const sorted = (values: Set<number>): number[] => [...values].sort((a, b) => a - b)
const list = (values: Set<number>): string => sorted(values).join(',')

function yearBounds(years: Set<number>, bounds: Bounds): Bounds | null {
  if (years.size === allValues(ranges.year).size) return bounds
  const numbers = sorted(years)
  const [first = 0, last = 0] = [numbers[0], numbers.at(-1)]
  if (last - first + 1 !== numbers.length) return null
  return { startAt: `${first}-01-01T00:00:00`, endAt: `${last}-12-31T23:59:59`, ...bounds }
}

function fromInterval(at: Part, interval: string | undefined, phase: string | undefined, bounds: Bounds): Timing {
  const everyMs = goDurationMs(interval ?? '')
  const phaseMs = goDurationMs(phase ?? '0s') ?? 0
  if (everyMs === null || everyMs <= 0)
    return { at, schedule: null, problem: `\`${excerpt(String(interval))}\` is not an interval such as 3600s.` }
  const anchor = new Date(phaseMs).toISOString()
  return {
    at,
    schedule: { type: 'every', every: toDuration(everyMs), anchor, ...bounds },
    notes: [kept('phase', 'Counted from 1970, as Temporal does.')],
  }
}

function readInput(part: Part): unknown {
  const payloads = part.has('payloads') ? part.get('payloads').items() : part.items()
  return payloads.map((payload) => {
    const data = payload.get('data').text
    if (data === undefined) return payload.value
    const text = Buffer.from(data, 'base64').toString('utf8')
    try {
      return JSON.parse(text) as unknown
    } catch {
      return text
    }
  })
}
