import { toDuration } from '../kernel/duration.ts'
import { isInterval, toNickname } from './cron-text.ts'
import { type Part, readDocuments } from './document.ts'
import { changed, command, type Difference, excerpt, kept, type Source, type SourceEntry } from './entry.ts'
import { parseGoDuration } from './go-duration.ts'

/** Reads CronJob manifests (batch/v1, batch/v1beta1): several documents, and lists of them. */
export function readKubernetes(text: string): Source {
  const { parts, problems } = readDocuments(text)
  const source: Source = { entries: [], notes: [], problems }
  const visit = (part: Part): void => {
    const kind = part.get('kind').text
    if (kind === 'CronJob') source.entries.push(readCronJob(part))
    else if (kind === 'List' || kind === 'CronJobList') for (const item of part.get('items').items()) visit(item)
    else
      source.notes.push({
        line: part.line,
        text: excerpt(part.written),
        detail: `${kind === undefined ? 'No Kubernetes object' : `A ${kind}`}: nothing to import.`,
      })
  }
  // `kubectl get -o json` of a CronJobList leaves out the kind of each.
  for (const part of parts) {
    if (part.get('kind').text === 'CronJobList')
      for (const item of part.get('items').items()) source.entries.push(readCronJob(item))
    else visit(part)
  }
  return source
}

// What a job can say of how late it may be made up for.
const soonestMs = 60_000
const latestMs = 8_784 * 3_600_000

function readCronJob(part: Part): SourceEntry {
  const metadata = part.get('metadata')
  const spec = part.get('spec')
  const name = metadata.get('name').text ?? ''
  const namespace = metadata.get('namespace').text ?? 'default'
  const differences: Difference[] = []
  const problems: string[] = []
  if (name === '') problems.push('It has no `metadata.name`.')
  const at = spec.has('schedule') ? spec.get('schedule') : part
  const jobSpec = spec.get('jobTemplate').get('spec')
  const backoffLimit = jobSpec.get('backoffLimit').number ?? 6
  differences.push(
    kept(
      'retry',
      `Tried again up to ${backoffLimit} times (\`backoffLimit\`), first after 10 s, then twice as long each time.`,
    ),
  )
  const deadline = jobSpec.get('activeDeadlineSeconds').number
  return {
    line: at.line,
    text: excerpt(at.written),
    key: `${namespace}/${name}`,
    name: name || 'CronJob',
    description: metadata.get('annotations').get('description').text ?? null,
    schedule: toSchedule(spec, differences, problems),
    overlap: toOverlap(spec.get('concurrencyPolicy').text ?? 'Allow', differences, problems),
    retry: { limit: Math.min(100, Math.max(0, backoffLimit)), delay: 'PT10S', factor: 2, maxDelay: 'PT6M' },
    timeoutMs: deadline === undefined ? null : deadline * 1_000,
    isPaused: spec.get('suspend').value === true,
    action: toAction(jobSpec, problems),
    ...lateness(spec),
    differences,
    problems,
  }
}

function toSchedule(spec: Part, differences: Difference[], problems: string[]): unknown {
  const written = spec.get('schedule').text?.trim()
  if (written === undefined) {
    problems.push('It has no `spec.schedule`.')
    return null
  }
  const timezone = spec.get('timeZone').text
  if (timezone === undefined)
    differences.push(kept('zone', 'No `timeZone`: read as UTC, the clock of nearly every control plane.'))
  const every = /^@every\s+(\S+)$/.exec(written)?.[1]
  if (every !== undefined) {
    const duration = parseGoDuration(every)
    if (duration === null) problems.push(`\`${every}\` is not a duration such as 1h30m.`)
    differences.push(
      changed('phase', '`@every` counts from when the controller last started it; here from when the job is created.'),
    )
    return duration === null ? null : { type: 'every', every: duration }
  }
  // Kubernetes leaves a time out that does not exist, and runs twice at one that comes twice.
  const clock =
    timezone === undefined || /^(Etc\/)?UTC$/.test(timezone) || isInterval(written, 'kubernetes')
      ? {}
      : { gap: 'skip', fold: 'both' }
  return { type: 'cron', cron: toNickname(written), dialect: 'kubernetes', timezone: timezone ?? 'UTC', ...clock }
}

function toOverlap(policy: string, differences: Difference[], problems: string[]): SourceEntry['overlap'] {
  if (policy === 'Allow') return 'allow'
  if (policy === 'Forbid') return 'skip'
  if (policy !== 'Replace') problems.push(`\`concurrencyPolicy: ${policy}\` is none of Allow, Forbid and Replace.`)
  else differences.push(kept('overlap', '`Replace` stops the run that is going, there and here.'))
  return policy === 'Replace' ? 'cancel-running' : 'skip'
}

function lateness(spec: Part): Pick<SourceEntry, 'rules'> {
  const seconds = spec.get('startingDeadlineSeconds').number
  if (seconds === undefined) return {}
  const window = toDuration(Math.min(latestMs, Math.max(soonestMs, seconds * 1_000)))
  return { rules: { catchUp: 'all', catchUpMax: 1, catchUpWindow: window } }
}

function toAction(jobSpec: Part, problems: string[]): SourceEntry['action'] {
  const [container, ...others] = jobSpec.get('template', 'spec', 'containers').items()
  const image = container?.get('image').text
  if (container === undefined || image === undefined) {
    problems.push('Its pod has no container with an image.')
    return command('')
  }
  if (others.length > 0)
    problems.push(`Its pod has ${others.length + 1} containers: which of them is the work can't be told.`)
  const words = [...container.get('command').items(), ...container.get('args').items()].flatMap(
    ({ text }) => text ?? [],
  )
  const environment = Object.fromEntries(
    container
      .get('env')
      .items()
      .flatMap((each) => {
        const [name, value] = [each.get('name').text, each.get('value').text]
        return name === undefined || value === undefined ? [] : [[name, value]]
      }),
  )
  return command([image, ...words].join(' '), { environment })
}
