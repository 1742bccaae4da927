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

/** How many lines become new jobs, bring jobs up to date that there are, wait for a target, and can't be taken over. */
export function countPlan({ entries, problems }: Pick<Import, 'entries' | 'problems'>): {
  fresh: number
  known: number
  waiting: number
  refused: number
} {
  const count = (status: ImportEntry['status']): number => entries.filter((entry) => entry.status === status).length
  const fresh = entries.filter(({ status, jobId }) => status === 'ready' && jobId === null).length
  const refused = count('refused') + problems.length
  return { fresh, known: count('ready') - fresh, waiting: count('needs-target'), refused }
}

/** What a source holds, in one sentence. */
export function planWords(plan: Pick<Import, 'entries' | 'problems'>): string {
  const { fresh, known, waiting, refused } = countPlan(plan)
  const parts = [
    ...(fresh > 0 || known + waiting === 0 ? [`${some(fresh, 'line becomes a job', 'lines become jobs')}`] : []),
    ...(known > 0 ? [`${some(known, 'brings a job', 'bring jobs')} up to date`] : []),
    ...(waiting > 0 ? [`${some(waiting, 'command needs', 'commands need')} a target`] : []),
    ...(refused > 0 ? [`${refused} can’t be taken over`] : []),
  ]
  return `${parts.join(', ')}.`
}

/** What pressing the button does: `Make 2 jobs in shadow, update 13`. */
export function makeWords(plan: Pick<Import, 'entries' | 'problems'>, mode: 'live' | 'shadow'): string {
  const { fresh, known } = countPlan(plan)
  const update = known === 0 ? '' : `pdate ${some(known, 'job', 'jobs')}`
  if (fresh === 0) return update === '' ? 'Make the jobs' : `U${update}`
  const make = `Make ${some(fresh, 'job', 'jobs')}${mode === 'shadow' ? ' in shadow' : ''}`
  return update === '' ? make : `${make}, u${update}`
}

/** What will be otherwise here. */
export const changesOf = (entry: ImportEntry): ImportEntry['differences'] =>
  entry.differences.filter(({ isChange }) => isChange)

/** A change that many entries have, and how many of them. */
export interface SharedChange {
  detail: string
  count: number
  isEvery: boolean
}

const manyMin = 3

/** Changes that most entries have that could become a job: said once for all of them. */
export function sharedChanges(entries: readonly ImportEntry[]): SharedChange[] {
  const able = entries.filter(({ status }) => status !== 'refused')
  if (able.length < 2) return []
  const counts = new Map<string, number>()
  for (const { detail } of able.flatMap(changesOf)) counts.set(detail, (counts.get(detail) ?? 0) + 1)
  return [...counts]
    .filter(([, count]) => count === able.length || (count >= manyMin && count >= able.length / 2))
    .map(([detail, count]) => ({ detail, count, isEvery: count === able.length }))
}

const notable: ReadonlySet<string> = new Set(['days', 'clock-change', 'command', 'shell'])

/** What to say of an entry in its line: its own changes, then what is kept but surprises people. */
export function tellingOf(
  entry: ImportEntry,
  shared: readonly SharedChange[],
): { detail: string; isChange: boolean }[] {
  const own = changesOf(entry).filter((change) => !shared.some(({ detail }) => detail === change.detail))
  const kept = entry.differences.filter(({ code, isChange }) => !isChange && notable.has(code))
  return [...own, ...kept, ...entry.warnings.map((detail) => ({ detail, isChange: false }))]
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
