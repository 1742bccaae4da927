import { type Part, readDocuments } from './document.ts'
import { changed, command, type Difference, excerpt, kept, type ReadOptions, type Source } from './entry.ts'

/** Reads `on.schedule` of workflow files of GitHub Actions. */
export function readGithubActions(text: string, { fileName }: ReadOptions): Source {
  const { parts, problems } = readDocuments(text)
  const source: Source = { entries: [], notes: [], problems }
  for (const part of parts) readWorkflow(part, fileName?.split('/').at(-1), source)
  return source
}

function readWorkflow(part: Part, file: string | undefined, source: Source): void {
  const schedules = part.get('on').get('schedule').items()
  const workflow = part.get('name').text ?? file?.replace(/\.ya?ml$/, '') ?? 'workflow'
  if (schedules.length === 0) {
    source.notes.push({
      line: part.line,
      text: excerpt(part.written),
      detail: `The workflow ${workflow} has no \`on.schedule\`.`,
    })
    return
  }
  for (const [index, schedule] of schedules.entries()) {
    const written = schedule.get('cron').text
    const timezone = schedule.get('timezone').text
    const differences: Difference[] = [
      changed('delay', 'GitHub starts it late when it is busy, and may leave it out; here it starts on time.'),
    ]
    if (timezone === undefined) differences.push(kept('zone', 'No `timezone`: UTC, as there.'))
    const group = part.get('concurrency')
    const cancels = group.get('cancel-in-progress').value === true
    source.entries.push({
      line: schedule.line,
      text: excerpt(schedule.written),
      key: `${file ?? workflow}#${index + 1}`,
      name: schedules.length === 1 ? workflow : `${workflow} (${index + 1})`,
      description: null,
      schedule: written === undefined ? null : { type: 'cron', cron: written, timezone: timezone ?? 'UTC' },
      // Of what waits for a group only the newest stays.
      overlap: group.value === undefined ? 'allow' : cancels ? 'cancel-running' : 'replace',
      rules: { catchUp: 'skip' },
      isPaused: false,
      action: command(file ?? workflow, { input: { workflow, schedule: written ?? null } }),
      differences,
      problems: written === undefined ? ['This has no `cron`.'] : [],
    })
  }
}
