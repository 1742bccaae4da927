import { toDuration } from '../kernel/duration.ts'
import { type Part, readDocuments } from './document.ts'
import { changed, command, type Difference, excerpt, kept, type Source, type SourceEntry } from './entry.ts'

/**
 * Reads schedules of EventBridge: what `aws scheduler get-schedule` and `aws events list-rules` or `describe-rule`
 * print, CloudFormation and SAM templates in JSON or YAML.
 */
export function readEventBridge(text: string): Source {
  const { parts, problems } = readDocuments(text)
  const source: Source = { entries: [], notes: [], problems }
  for (const part of parts) {
    if (part.get('Resources').isMap) readTemplate(part.get('Resources'), source)
    else for (const item of listOf(part)) readItem(item, source)
  }
  return source
}

const listOf = (part: Part): Part[] => {
  if (Array.isArray(part.value)) return part.items().flatMap(listOf)
  for (const name of ['Schedules', 'Rules']) if (part.has(name)) return part.get(name).items()
  return [part]
}

function readItem(part: Part, source: Source): void {
  if (part.has('ScheduleExpression')) source.entries.push(readSchedule(part, part.get('Name').text ?? ''))
  else if (part.has('EventPattern')) note(source, part, 'A rule that waits for events: nothing to import.')
  else if (part.get('Arn').text?.includes(':schedule/'))
    source.problems.push({
      line: part.line,
      detail: `\`list-schedules\` does not tell when ${part.get('Name').text ?? 'it'} runs: use the output of \`aws scheduler get-schedule\`.`,
    })
  else note(source, part, 'No schedule of EventBridge: nothing to import.')
}

const note = (source: Source, part: Part, detail: string): void =>
  void source.notes.push({ line: part.line, text: excerpt(part.written), detail })

function readTemplate(resources: Part, source: Source): void {
  for (const [logicalId, resource] of resources.entries()) {
    const type = resource.get('Type').text
    const properties = resource.get('Properties')
    if (type === 'AWS::Scheduler::Schedule' || type === 'AWS::Events::Rule') {
      if (properties.has('ScheduleExpression'))
        source.entries.push(readSchedule(properties, properties.get('Name').text ?? logicalId))
      else note(source, resource, 'A rule that waits for events: nothing to import.')
    } else if (type === 'AWS::Serverless::Function') {
      for (const [eventId, event] of properties.get('Events').entries()) {
        const kind = event.get('Type').text
        if (kind !== 'Schedule' && kind !== 'ScheduleV2') continue
        const inner = event.get('Properties')
        const entry = readSchedule(inner, inner.get('Name').text ?? `${logicalId}${eventId}`)
        source.entries.push({ ...entry, action: command(logicalId, { input: readInput(inner) }) })
      }
    }
  }
}

function readSchedule(part: Part, name: string): SourceEntry {
  const at = part.has('ScheduleExpression') ? part.get('ScheduleExpression') : part.get('Schedule')
  const differences: Difference[] = []
  const problems: string[] = []
  const isScheduler = ['GroupName', 'FlexibleTimeWindow', 'ScheduleExpressionTimezone', 'Target'].some((field) =>
    part.has(field),
  )
  if (name === '') problems.push('It has no `Name`.')
  const windowMinutes = part.get('FlexibleTimeWindow').get('MaximumWindowInMinutes').number
  if (windowMinutes !== undefined)
    differences.push(
      kept(
        'spread',
        `Starts anywhere within ${windowMinutes} min there; here at one moment of them, the same each time.`,
      ),
    )
  const tries = part.get('Target').get('RetryPolicy').get('MaximumRetryAttempts').number
  differences.push(
    kept(
      'retry',
      tries === undefined
        ? 'EventBridge tries a delivery again for up to 24 hours; here the retry rule of the job holds.'
        : `Tried again up to ${tries} times, here with the pauses of the job's retry rule.`,
    ), // prettier-ignore
  )
  return {
    line: at.line,
    text: excerpt(at.written),
    key: `${part.get('GroupName').text ?? 'default'}/${name}`,
    name: name || 'Schedule',
    description: part.get('Description').text ?? null,
    schedule: toSchedule(part, at, { isScheduler, differences, problems }),
    overlap: 'allow',
    ...(tries === undefined
      ? {}
      : { retry: { limit: Math.min(100, Math.max(0, tries)), delay: 'PT1S', maxDelay: 'PT1H' } }),
    ...(part.get('ActionAfterCompletion').text === 'DELETE' ? { rules: { afterLastRun: 'delete' } } : {}),
    isPaused: part.get('State').text === 'DISABLED' || part.get('Enabled').value === false,
    action: toAction(part),
    differences,
    problems,
  }
}

function toSchedule(
  part: Part,
  at: Part,
  { isScheduler, differences, problems }: { isScheduler: boolean; differences: Difference[]; problems: string[] },
): unknown {
  const written = at.text
  if (written === undefined) {
    problems.push('Its expression is not a text: a value that the template computes has to be put in first.')
    return null
  }
  const timezone = part.get('ScheduleExpressionTimezone').text ?? 'UTC'
  if (!part.has('ScheduleExpressionTimezone'))
    differences.push(
      kept(
        'zone',
        isScheduler ? 'No `ScheduleExpressionTimezone`: UTC, as there.' : 'Rules of EventBridge run in UTC.',
      ),
    )
  const isCron = /^\s*cron\(/i.test(written)
  if (isCron)
    differences.push(kept('fields', 'Six fields with the year last, and days of the week from 1 (Sunday), are kept.'))
  if (/^\s*rate\(/i.test(written))
    differences.push(
      changed(
        'phase',
        'A rate counts from when it was created there, which this does not tell; here from when the job is created.',
      ),
    )
  const startAt = toInstant(part.get('StartDate'), problems)
  const endAt = toInstant(part.get('EndDate'), problems)
  return {
    type: 'cron',
    dialect: 'eventbridge',
    cron: written,
    timezone,
    ...(startAt === undefined || /^\s*at\(/i.test(written) ? {} : { startAt }),
    ...(endAt === undefined || /^\s*at\(/i.test(written) ? {} : { endAt }),
    ...toWindow(part),
    // EventBridge leaves a time out that does not exist; one that comes twice runs once.
    ...(isCron && timezone !== 'UTC' ? { gap: 'skip' } : {}),
  }
}

function toWindow(part: Part): { window?: string } {
  const minutes = part.get('FlexibleTimeWindow').get('MaximumWindowInMinutes').number ?? 0
  return minutes > 0 ? { window: toDuration(minutes * 60_000) } : {}
}

/** The command-line tool prints ISO 8601 with microseconds, or seconds since 1970. */
function toInstant(part: Part, problems: string[]): string | undefined {
  const { text, number } = part
  if (text === undefined) return undefined
  const ms = number === undefined ? Date.parse(text) : number * 1_000
  if (Number.isFinite(ms)) return new Date(ms).toISOString()
  problems.push(`\`${excerpt(text)}\` is not a time.`)
  return undefined
}

function readInput(part: Part): unknown {
  const written = part.get('Input').text
  if (written === undefined) return null
  try {
    return JSON.parse(written) as unknown
  } catch {
    return written
  }
}

function toAction(part: Part): SourceEntry['action'] {
  const target = part.has('Target') ? part.get('Target') : part.get('Targets').items()[0]
  const arn = target?.get('Arn')
  const reference = arn?.text ?? (arn?.isMap ? JSON.stringify(arn.value) : undefined)
  return command(reference ?? part.get('Arn').text ?? '', { input: target === undefined ? null : readInput(target) })
}
