import type { Entry } from './entries.ts'

/** What a person wants of one occurrence. */
export type OccurrenceChoice = 'scheduled' | 'moved' | 'skipped'

/** The same as the API takes it, whole: an edit that is sent again leaves the occurrence as it was. */
export interface OccurrenceChange {
  skip: boolean
  /** Null: as its schedule says. */
  moveTo: string | null
  note: string | null
}

type Edited = Pick<Entry, 'kind' | 'reason' | 'isMoved' | 'effectiveAt' | 'note'>

/** What was chosen for an occurrence so far. */
export const choiceOf = ({ kind, reason, isMoved }: Edited): OccurrenceChoice =>
  kind === 'skipped' && reason === 'edited' ? 'skipped' : isMoved ? 'moved' : 'scheduled'

export const editOf = (wanted: {
  choice: OccurrenceChoice
  movedTo: number | undefined
  note: string
}): OccurrenceChange => ({
  skip: wanted.choice === 'skipped',
  moveTo: wanted.choice === 'moved' && wanted.movedTo !== undefined ? new Date(wanted.movedTo).toISOString() : null,
  note: wanted.note.trim() || null,
})

/** What brings an occurrence back to how it stands. */
export const undoOf = (entry: Edited): OccurrenceChange =>
  editOf({ choice: choiceOf(entry), movedTo: entry.effectiveAt, note: entry.note ?? '' })
