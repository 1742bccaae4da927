import type { Import, ImportEntry } from '@meridian/sdk'

export type Note = Import['notes'][number]

/** One line of a source as the table shows it. */
export type Row =
  | { kind: 'entry'; line: number; entry: ImportEntry }
  | { kind: 'note'; line: number; note: Note }
  | { kind: 'problem'; line: number; detail: string }

/** Everything that a source holds, in the order of its lines. */
export function rowsOf({ entries, notes, problems }: Pick<Import, 'entries' | 'notes' | 'problems'>): Row[] {
  const rows: Row[] = [
    ...entries.map((entry): Row => ({ kind: 'entry', line: entry.line, entry })),
    ...notes.map((note): Row => ({ kind: 'note', line: note.line, note })),
    ...problems.map(({ line, detail }): Row => ({ kind: 'problem', line, detail })),
  ]
  return rows.sort((a, b) => a.line - b.line)
}

const some = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`

/** What a source holds, in one sentence. */
export function planWords({ entries, problems }: Pick<Import, 'entries' | 'problems'>): string {
  const count = (status: ImportEntry['status']): number => entries.filter((entry) => entry.status === status).length
  const [ready, waiting, refused] = [count('ready'), count('needs-target'), count('refused') + problems.length]
  const parts = [
    ...(ready > 0 || waiting === 0
      ? [`${some(ready, 'line becomes', 'lines become')} ${ready === 1 ? 'a job' : 'jobs'}`]
      : []),
    ...(waiting > 0 ? [`${some(waiting, 'command needs', 'commands need')} a target`] : []),
    ...(refused > 0 ? [`${refused} can’t be taken over`] : []),
  ]
  return `${parts.join(', ')}.`
}

/** What will be otherwise here. */
export const changesOf = (entry: ImportEntry): ImportEntry['differences'] =>
  entry.differences.filter(({ isChange }) => isChange)

/** Changes that every entry has that could become a job: said once for all of them. */
export function sharedChanges(entries: readonly ImportEntry[]): string[] {
  const able = entries.filter(({ status }) => status !== 'refused')
  if (able.length < 2) return []
  const [first, ...rest] = able.map((entry) => changesOf(entry).map(({ detail }) => detail))
  return (first ?? []).filter((detail) => rest.every((others) => others.includes(detail)))
}

const notable: ReadonlySet<string> = new Set(['days', 'clock-change', 'command'])

/** What to say of an entry in its line: its own changes, else what is kept but surprises people. */
export function tellingOf(entry: ImportEntry, shared: readonly string[]): { detail: string; isChange: boolean }[] {
  const own = changesOf(entry).filter(({ detail }) => !shared.includes(detail))
  if (own.length > 0) return own
  const kept = entry.differences.filter(({ code, isChange }) => !isChange && notable.has(code))
  return [...kept, ...entry.warnings.map((detail) => ({ detail, isChange: false }))]
}

/** The wall clock `2026-03-29T06:25:00` as `Sun 29 Mar 06:25`, with the year when it is not this one. */
export function wallWords(local: string, now: number): string {
  const day = new Date(`${local.slice(0, 10)}T00:00:00Z`).toLocaleDateString('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
    ...(local.startsWith(String(new Date(now).getUTCFullYear())) ? {} : { year: 'numeric' as const }),
  })
  return `${day.replace(',', '')} ${local.slice(11, 19).replace(/:00$/, '')}`
}

/** Whether both sides have the same next instants; undefined when only the other system knows its own. */
export function isSame({ theirs, ours }: Pick<ImportEntry, 'theirs' | 'ours'>): boolean | undefined {
  if (theirs === null) return undefined
  return theirs.length === ours.length && theirs.every(({ at }, index) => at === ours[index]?.at)
}

export const formatNames: Readonly<Record<Import['format'], string>> = {
  crontab: 'Crontab',
  'system-crontab': 'System crontab',
  kubernetes: 'Kubernetes CronJobs',
  eventbridge: 'EventBridge',
  'cloud-scheduler': 'Cloud Scheduler',
  'github-actions': 'GitHub Actions',
  bullmq: 'BullMQ',
  temporal: 'Temporal',
}
