import type { Job, JobInstant, ListedOccurrence } from '@meridian/sdk'
import { isOpen } from '#lib/draw/outcome.ts'

/** What an instant of a schedule came to, as it is drawn. `coming`: nothing is decided about it yet. */
export type Kind = 'succeeded' | 'failed' | 'running' | 'cancelled' | 'skipped' | 'missed' | 'pending' | 'coming'

/** One instant of a schedule, or several in a row that came to the same. */
export interface Entry {
  nominalAt: number
  /** When it runs, or ran. */
  effectiveAt: number
  /** The last of several; else `nominalAt`. */
  untilAt: number
  count: number
  kind: Kind
  /** Why it was skipped or missed, as a machine code. */
  reason: string | null
  runId: string | null
  isCaughtUp: boolean
  isMoved: boolean
  note: string | null
  editedBy: string | null
  /** It is still to come, so that a person may change it. */
  isEditable: boolean
}

/** What the future of a job depends on beside its schedule. */
export interface Standing {
  now: number
  rest: Rest | undefined
}

/** The job starts nothing until then; null: until somebody lets it go on. */
interface Rest {
  until: number | null
  reason: 'paused' | 'archived'
}

/** Whether a job rests, and how long. */
export function restOf({
  state,
  pauseUntil,
  archivedAt,
}: Pick<Job, 'state' | 'pauseUntil' | 'archivedAt'>): Rest | undefined {
  if (archivedAt !== null) return { until: null, reason: 'archived' }
  if (state !== 'paused') return undefined
  return { until: pauseUntil === null ? null : Date.parse(pauseUntil), reason: 'paused' }
}

/** A range as far as the job rests in it, and as far as it does not. */
export function restingParts(
  { from, to }: { from: number; to: number },
  rest: Rest | undefined,
): { from: number; to: number; rests: boolean }[] {
  const until = rest === undefined ? from : Math.min(rest.until ?? to, to)
  return [
    { from, to: until, rests: true },
    { from: Math.max(from, until), to, rests: false },
  ].filter((part) => part.from < part.to)
}

// The ledger is made so far ahead.
const aheadMaxMs = 56 * 86_400_000
const undoable: ReadonlySet<string> = new Set(['edited', 'calendar', 'blackout'])

/** The ledger and what the schedule still has, in one row of time. What is in the ledger is not told twice. */
export function entriesOf(
  ledger: readonly ListedOccurrence[],
  coming: readonly JobInstant[],
  standing: Standing,
): Entry[] {
  const decided = ledger.map((occurrence) => fromLedger(occurrence, standing))
  const known = new Set(decided.map(({ nominalAt }) => nominalAt))
  const ahead = coming
    .map((instant) => fromSchedule(instant, standing))
    .filter(({ nominalAt }) => !known.has(nominalAt))
  return [...decided, ...ahead].toSorted((one, other) => one.nominalAt - other.nominalAt)
}

function fromLedger(occurrence: ListedOccurrence, { now, rest }: Standing): Entry {
  const { reason, runId, isCaughtUp, isMoved, note, editedBy, count } = occurrence
  const [nominalAt, effectiveAt, untilAt] = [
    Date.parse(occurrence.nominalAt),
    Date.parse(occurrence.effectiveAt),
    Date.parse(occurrence.untilAt),
  ]
  const kind = kindOf(occurrence)
  const isWaiting = kind === 'pending' && effectiveAt > now
  const isLeftOut = kind === 'skipped' && undoable.has(reason ?? '') && nominalAt > now
  const facts = { reason, runId, isCaughtUp, isMoved, note, editedBy, count }
  const isEditable = rest?.reason !== 'archived' && (isWaiting || isLeftOut)
  return { nominalAt, effectiveAt, untilAt, kind, ...facts, isEditable }
}

function kindOf({ outcome, runStatus }: ListedOccurrence): Kind {
  if (outcome !== 'run') return outcome
  if (runStatus === null || runStatus === 'succeeded') return 'succeeded'
  if (runStatus === 'failed' || runStatus === 'expired') return 'failed'
  if (runStatus === 'cancelled') return 'cancelled'
  return isOpen(runStatus) ? 'running' : 'skipped'
}

function fromSchedule(instant: JobInstant, { now, rest }: Standing): Entry {
  const nominalAt = Date.parse(instant.nominalAt)
  const rests = rest !== undefined && (rest.until === null || nominalAt < rest.until)
  const reason = rests ? rest.reason : instant.skipped
  return {
    nominalAt,
    effectiveAt: Date.parse(instant.effectiveAt),
    untilAt: nominalAt,
    count: 1,
    kind: reason === null ? 'coming' : 'skipped',
    reason,
    ...{ runId: null, isCaughtUp: false, isMoved: false, note: null, editedBy: null },
    isEditable: rest?.reason !== 'archived' && nominalAt - now <= aheadMaxMs,
  }
}

const reasons: Record<string, string> = {
  overlap: 'Skipped: the run before was still going',
  'catch-up': 'Missed: too late when it could have run',
  paused: 'Skipped: the job was paused',
  archived: 'Skipped: the job was archived',
  calendar: 'Skipped: its calendars are closed',
  blackout: 'Skipped: in a blackout',
  edited: 'Skipped by hand',
  'max-runs': 'It has had all its runs',
  removed: 'Skipped: its schedule was taken away',
  shadow: 'In shadow: noted, not started',
  cancelled: 'Skipped: its run was cancelled before it began',
  quota: 'Skipped: the organisation had used up its quota',
}

/** Why an instant was left out, in a few words. */
export function reasonWords(kind: 'skipped' | 'missed', reason: string | null): string {
  const name = kind === 'missed' ? 'Missed' : 'Skipped'
  return reason ? (reasons[reason] ?? `${name}: ${reason.replaceAll('-', ' ')}`) : name
}

/** An entry in a few words, without its time. */
export function entryWords({ kind, reason, isCaughtUp, isMoved, count, nominalAt }: Entry, now: number): string {
  const isAhead = nominalAt > now
  const marks = `${isCaughtUp ? ', caught up' : ''}${isMoved && kind !== 'skipped' ? ', moved' : ''}`
  if (kind === 'skipped' || kind === 'missed') {
    if (isAhead && (reason === 'paused' || reason === 'archived')) return `Will not start: the job is ${reason}`
    const why = reasonWords(kind, reason)
    return count > 1 ? `${why}, ${count.toLocaleString('en-GB')} times` : why
  }
  const words = {
    succeeded: 'Ran',
    failed: 'Failed',
    running: 'Running',
    cancelled: 'Cancelled',
    pending: 'To come, written down',
    coming: 'To come',
  }
  return words[kind] + marks
}

/** How many of each kind, those there are, in the order that a legend has. */
export function tally(entries: readonly Pick<Entry, 'kind' | 'count'>[]): { kind: Kind; count: number }[] {
  const order: Kind[] = ['succeeded', 'failed', 'running', 'cancelled', 'skipped', 'missed', 'pending', 'coming']
  return order
    .map((kind) => ({
      kind,
      count: entries.reduce((sum, entry) => sum + (entry.kind === kind ? entry.count : 0), 0),
    }))
    .filter(({ count }) => count > 0)
}
