import { toDuration } from '../kernel/duration.ts'
import { httpMethods } from '../run/target.ts'
import { type Part, readDocuments } from './document.ts'
import { changed, command, type Difference, excerpt, kept, type Source, type SourceEntry } from './entry.ts'
import { goDurationMs } from './go-duration.ts'

/** Reads jobs of Google Cloud Scheduler: what `gcloud scheduler jobs list|describe --format=json` and its REST API give. */
export function readCloudScheduler(text: string): Source {
  const { parts, problems } = readDocuments(text)
  const source: Source = { entries: [], notes: [], problems }
  for (const part of parts) {
    const jobs = part.has('jobs') ? part.get('jobs').items() : Array.isArray(part.value) ? part.items() : [part]
    for (const job of jobs) {
      if (job.has('schedule')) source.entries.push(readJob(job))
      else
        source.notes.push({
          line: job.line,
          text: excerpt(job.written),
          detail: 'No job of Cloud Scheduler: nothing to import.',
        })
    }
  }
  return source
}

const units: Readonly<Record<string, string>> = { minute: 'M', min: 'M', hour: 'H' }
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

function readJob(part: Part): SourceEntry {
  const resource = part.get('name').text ?? ''
  const name = resource.split('/').at(-1) ?? ''
  const at = part.get('schedule')
  const differences: Difference[] = []
  const problems: string[] = []
  if (name === '') problems.push('It has no `name`.')
  const retry = part.get('retryConfig')
  const count = retry.get('retryCount').number ?? 0
  const minimum = duration(retry.get('minBackoffDuration'), 5_000)
  const maximum = duration(retry.get('maxBackoffDuration'), 3_600_000)
  if (retry.has('maxRetryDuration') && duration(retry.get('maxRetryDuration'), 0) > 0)
    differences.push(changed('retry', '`maxRetryDuration` has no counterpart: the number of tries is the limit.'))
  return {
    line: at.line,
    text: excerpt(at.written),
    key: resource || name,
    name: name || 'Job',
    description: part.get('description').text ?? null,
    schedule: toSchedule(part, differences, problems),
    // A job that is still being retried is not started again: its next run waits for the end of the tries.
    overlap: 'skip',
    retry: {
      limit: Math.min(100, Math.max(0, count)),
      delay: toDuration(Math.max(1, Math.min(86_400_000, minimum))),
      factor: 2,
      maxDelay: toDuration(Math.max(1, Math.min(86_400_000, maximum))),
    },
    timeoutMs: part.has('attemptDeadline') ? duration(part.get('attemptDeadline'), 180_000) : null,
    isPaused: ['PAUSED', 'DISABLED'].includes(part.get('state').text ?? ''),
    action: toAction(part, differences, problems),
    differences,
    problems,
  }
}

const duration = (part: Part, otherwise: number): number => goDurationMs(part.text ?? '') ?? otherwise

function toSchedule(part: Part, differences: Difference[], problems: string[]): unknown {
  const written = part.get('schedule').text?.trim() ?? ''
  const timezone = part.get('timeZone').text ?? 'Etc/UTC'
  if (!part.has('timeZone')) differences.push(kept('zone', 'No `timeZone`: UTC, as there.'))
  if (!/^every\b|\bof\b/i.test(written)) return { type: 'cron', cron: written, timezone }
  const [, count, unit = ''] = /^every\s+(\d+)\s+(minute|min|hour)s?$/i.exec(written) ?? []
  if (count !== undefined) {
    differences.push(
      changed('phase', 'An interval counts from the end of the last run there; here from when the job is created.'),
    )
    return { type: 'every', every: `PT${count}${units[unit.toLowerCase()]}` }
  }
  const [, days = '', hour, minute] = /^every\s+(.+?)\s+(\d{1,2}):(\d{2})$/i.exec(written) ?? []
  const numbers = days
    .toLowerCase()
    .split(/\s*,\s*/)
    .map((day) => weekdays.indexOf(day.slice(0, 3)))
  if (hour !== undefined && (/^day$/i.test(days) || numbers.every((number) => number >= 0))) {
    const weekday = /^day$/i.test(days) ? '*' : numbers.join(',')
    return { type: 'cron', cron: `${Number(minute)} ${Number(hour)} * * ${weekday}`, timezone }
  }
  problems.push('This is the old form of App Engine: write it as cron, such as `0 9 * * 1`.')
  return null
}

function toAction(part: Part, differences: Difference[], problems: string[]): SourceEntry['action'] {
  const http = part.get('httpTarget')
  if (part.has('pubsubTarget')) {
    const target = part.get('pubsubTarget')
    return command(target.get('topicName').text ?? '', { input: decoded(target.get('data').text) })
  }
  if (part.has('appEngineHttpTarget')) {
    const target = part.get('appEngineHttpTarget')
    return command(`${target.get('httpMethod').text ?? 'POST'} ${target.get('relativeUri').text ?? '/'}`, {
      input: decoded(target.get('body').text),
    })
  }
  const url = http.get('uri').text
  if (url === undefined) {
    problems.push('It has no target that is known here.')
    return command('')
  }
  const token = ['oidcToken', 'oauthToken'].find((name) => http.has(name))
  if (token !== undefined)
    differences.push(
      changed(
        'authorization',
        `Google adds an ${token === 'oidcToken' ? 'OIDC' : 'OAuth'} token to each call; here the target has to accept a header of yours.`,
      ),
    )
  const method = httpMethods.find((each) => each === (http.get('httpMethod').text ?? 'POST'))
  if (method === undefined) problems.push(`\`${http.get('httpMethod').text}\` is not a method that can be sent.`)
  const headers = Object.fromEntries(
    http
      .get('headers')
      .entries()
      .flatMap(([name, value]) => (/^(user-agent|content-length|host)$/i.test(name) ? [] : [[name, value.text ?? '']])),
  )
  const body = decoded(http.get('body').text)
  return {
    kind: 'http',
    target: { type: 'http', url, method: method ?? 'POST', headers, ...(body === null ? {} : { body }) },
  }
}

const decoded = (text: string | undefined): string | null =>
  text === undefined ? null : Buffer.from(text, 'base64').toString('utf8')
