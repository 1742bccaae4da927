import type { Blackout } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { draftOf, stretchOf } from './draft.ts'
import { affectedWords, barOf, othersWords, stateOf } from './words.ts'

const stretch = { from: '2026-12-05T22:00:00.000Z', until: '2026-12-06T02:00:00.000Z' }
const at = (text: string) => Date.parse(text)

describe('a blackout', () => {
  it('holds from its start until right before its end', () => {
    expect(stateOf(stretch, at('2026-12-05T21:59:59Z'))).toBe('coming')
    expect(stateOf(stretch, at(stretch.from))).toBe('on')
    expect(stateOf(stretch, at(stretch.until))).toBe('over')
  })

  it('says what becomes of what falls into it', () => {
    const preview = { starts: 1_204, jobCount: 37, jobs: [], uncountedJobs: 0 }
    expect(affectedWords(preview, 'skip')).toBe('1,204 starts of 37 jobs are skipped')
    expect(affectedWords({ ...preview, starts: 1, jobCount: 1 }, 'next')).toBe('1 start of 1 job waits for its end')
    expect(affectedWords({ ...preview, starts: 0, jobCount: 0 }, 'skip')).toBe('No schedule starts anything in it')
    expect(affectedWords({ ...preview, uncountedJobs: 2 }, 'next')).toBe(
      '1,204 starts of 37 jobs wait for its end, beside 2 jobs with too many starts until then to be counted',
    )
  })

  it('names another one that holds at the same time, since what that holds back is not counted', () => {
    const of = (id: string, more: Partial<Blackout> = {}) => ({ id, name: id, ...stretch, ...more }) as Blackout
    const [one, same, later] = [
      of('one'),
      of('same'),
      of('later', { from: stretch.until, until: '2026-12-07T00:00:00Z' }),
    ]
    const preview = { starts: 0, jobCount: 0, jobs: [], uncountedJobs: 0 }
    const words = (all: Blackout[], starts = 0) =>
      affectedWords({ ...preview, starts, jobCount: starts }, 'skip', othersWords(one, all))
    expect(words([one, later])).toBe('No schedule starts anything in it')
    expect(words([one, same, later])).toBe('No start beside those that “same” holds back')
    expect(words([one, same, of('more')], 2)).toBe(
      '2 starts of 2 jobs are skipped; without those that 2 other blackouts hold back',
    )
  })

  it('is drawn where it lies on an axis, cut at its ends', () => {
    const axis = { from: at('2026-12-06T00:00:00Z'), to: at('2026-12-06T08:00:00Z') }
    expect(barOf(stretch, axis)).toEqual({ left: 0, width: 0.25 })
    expect(barOf({ from: '2027-01-01T00:00:00Z', until: '2027-01-02T00:00:00Z' }, axis)).toBeUndefined()
  })
})

describe('a blackout that is being written', () => {
  const zone = 'Europe/Berlin'

  it('is of the night to come, and means the wall clock of who writes it', () => {
    const draft = draftOf(undefined, at('2026-12-05T12:00:00Z'), zone)
    expect(draft).toMatchObject({ from: '2026-12-05T22:00', until: '2026-12-06T02:00', roll: 'skip' })
    expect(stretchOf(draft, zone)).toEqual({ from: '2026-12-05T21:00:00.000Z', until: '2026-12-06T01:00:00.000Z' })
    expect(stretchOf({ ...draft, until: draft.from }, zone)).toBeUndefined()
  })

  it('keeps what it was', () => {
    const stored = { ...stretch, name: 'Move', roll: 'next' as const, isForAll: true }
    const draft = draftOf(
      { ...stored, id: 'blk_1', createdBy: 'system', createdAt: '', updatedAt: '', version: 1 },
      0,
      zone,
    )
    expect(draft).toEqual({
      name: 'Move',
      roll: 'next',
      isForAll: true,
      from: '2026-12-05T23:00',
      until: '2026-12-06T03:00',
    })
    expect(stretchOf(draft, zone)).toEqual(stretch)
  })
})
