import { expect, it } from 'vitest'
import { choiceOf, editOf, undoOf } from './edit.ts'

const plain = { kind: 'coming', reason: null, isMoved: false, effectiveAt: 0, note: null } as const

it('undoes what was done by saying what was', () => {
  expect(undoOf(plain)).toEqual({ skip: false, moveTo: null, note: null })
  expect(undoOf({ ...plain, kind: 'skipped', reason: 'edited', note: 'holiday' })).toEqual({
    skip: true,
    moveTo: null,
    note: 'holiday',
  })
  expect(undoOf({ ...plain, kind: 'pending', isMoved: true, effectiveAt: 60_000 })).toEqual({
    skip: false,
    moveTo: '1970-01-01T00:01:00.000Z',
    note: null,
  })
})

it('takes what a calendar left out as what the schedule says', () => {
  expect(choiceOf({ ...plain, kind: 'skipped', reason: 'calendar' })).toBe('scheduled')
})

it('drops a note of blanks, and a time that is not asked for', () => {
  expect(editOf({ choice: 'scheduled', movedTo: 1, note: '  ' })).toEqual({ skip: false, moveTo: null, note: null })
})
