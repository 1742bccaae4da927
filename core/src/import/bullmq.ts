import { toDuration } from '../kernel/duration.ts'
import { type Part, readDocuments } from './document.ts'
import { command, type Difference, excerpt, kept, type ReadOptions, type Source, type SourceEntry } from './entry.ts'

/** Reads schedules of BullMQ: what `queue.getJobSchedulers()` (or the older `getRepeatableJobs()`) returns, as JSON. */
export function readBullmq(text: string, options: ReadOptions): Source {
  const { parts, problems } = readDocuments(text)
  const source: Source = { entries: [], notes: [], problems }
  for (const part of parts) {
    const items = Array.isArray(part.value)
      ? part.items()
      : part.has('key')
        ? [part]
        : part.entries().flatMap(([, each]) => (each.isMap ? [each] : each.items()))
    for (const item of items) {
      if (item.has('pattern') || item.has('every')) source.entries.push(readScheduler(item, options))
      else
        source.notes.push({
          line: item.line,
          text: excerpt(item.written),
          detail: 'No schedule of BullMQ: nothing to import.',
        })
    }
  }
  return source
}

function readScheduler(part: Part, options: ReadOptions): SourceEntry {
  const name = part.get('name').text ?? ''
  const key = part.get('key').text ?? part.get('id').text ?? name
  const differences: Difference[] = []
  const problems: string[] = []
  if (key === '') problems.push('It has neither a `key` nor a name.')
  const template = part.get('template')
  const attempts = template.get('opts').get('attempts').number
  if (attempts === undefined) differences.push(kept('retry', 'One try, as BullMQ does without `attempts`.'))
  differences.push(kept('overlap', 'BullMQ makes the next job whether or not the last has ended: runs may overlap.'))
  return {
    line: part.line,
    text: excerpt(part.get('pattern').value == null ? part.get('every').written : part.get('pattern').written),
    key,
    name: name || key || 'Scheduler',
    description: null,
    schedule: toSchedule(part, options, { differences, problems }),
    overlap: 'allow',
    retry: { limit: Math.min(100, Math.max(0, (attempts ?? 1) - 1)) },
    isPaused: false,
    action: command(name || key, { input: template.get('data').value ?? null }),
    differences,
    problems,
  }
}

function toSchedule(
  part: Part,
  { timezone }: ReadOptions,
  { differences, problems }: { differences: Difference[]; problems: string[] },
): unknown {
  const limit = part.get('limit').number
  const left = limit === undefined ? undefined : limit - (part.get('iterationCount').number ?? 0)
  if (left !== undefined && left < 1) problems.push(`Its limit of ${limit} jobs is reached: it has ended.`)
  const bounds = {
    ...instant('startAt', part.get('startDate')),
    ...instant('endAt', part.get('endDate')),
    ...(left === undefined ? {} : { maxRuns: left }),
  }
  const everyMs = part.get('every').number
  if (everyMs !== undefined) {
    const next = part.get('next').number
    const offset = part.get('offset').number ?? 0
    // Slots are counted from 1970, moved by the offset; the next one says where they lie.
    const anchor = new Date(next ?? offset).toISOString()
    differences.push(
      kept(
        'phase',
        next === undefined ? 'Counted from 1970, as BullMQ does.' : 'Counted from its next job, so it goes on in step.',
      ),
    )
    if (everyMs < 1_000) problems.push(`Every ${everyMs} ms: the shortest interval here is one second.`)
    return { type: 'every', every: toDuration(everyMs), anchor, ...bounds }
  }
  const written = part.get('pattern').text
  if (written === undefined) {
    problems.push('It has neither a `pattern` nor `every`.')
    return null
  }
  const zone = part.get('tz').text
  if (zone === undefined) differences.push(kept('zone', `No \`tz\`: read as ${timezone}, the zone of its process.`))
  return { type: 'cron', cron: eitherDay(written), timezone: zone ?? timezone, ...bounds }
}

/** cron-parser takes a step over all days for a choice of days: written so that both fields count, as there. */
function eitherDay(written: string): string {
  const fields = written.trim().split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) return written
  const [day, weekday] = [fields.length - 3, fields.length - 1]
  if (/^[*?]$/.test(fields[day] ?? '') || /^[*?]$/.test(fields[weekday] ?? '')) return written
  fields[day] = (fields[day] ?? '').replace(/^\*\//, '1-31/')
  fields[weekday] = (fields[weekday] ?? '').replace(/^\*\//, '0-6/')
  return fields.join(' ')
}

function instant(name: string, { text, number }: Part): Record<string, string> {
  const ms = number ?? (text === undefined ? Number.NaN : Date.parse(text))
  return Number.isFinite(ms) ? { [name]: new Date(ms).toISOString() } : {}
}
