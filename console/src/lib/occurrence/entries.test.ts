import type { JobInstant, ListedOccurrence } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { entriesOf, entryWords, restingParts, restOf, tally } from './entries.ts'

const now = Date.parse('2026-11-29T12:00:00Z')
const at = (hours: number): string => new Date(now + hours * 3_600_000).toISOString()

const told = (hours: number, change: Partial<ListedOccurrence> = {}): ListedOccurrence => ({
  nominalAt: at(hours),
  effectiveAt: at(hours),
  untilAt: at(hours),
  count: 1,
  outcome: 'run',
  reason: null,
  runId: 'run_1',
  runStatus: 'succeeded',
  isCaughtUp: false,
  isMoved: false,
  note: null,
  editedBy: null,
  jobVersion: 1,
  tzVersion: '2026b',
  decidedAt: null,
  ...change,
})
const instant = (hours: number, skipped: JobInstant['skipped'] = null): JobInstant => ({
  nominalAt: at(hours),
  effectiveAt: at(hours),
  skipped,
})
const active = { now, rest: undefined }

describe('entriesOf', () => {
  it('tells each instant once, in order', () => {
    const skipped = told(2, { outcome: 'skipped', reason: 'edited', runId: null, runStatus: null })
    const entries = entriesOf([told(-1), skipped], [instant(3), instant(2), instant(1)], active)
    expect(entries.map(({ nominalAt, kind }) => [(nominalAt - now) / 3_600_000, kind])).toEqual([
      [-1, 'succeeded'],
      [1, 'coming'],
      [2, 'skipped'],
      [3, 'coming'],
    ])
  })

  it.each([
    ['succeeded', 'succeeded'],
    [null, 'succeeded'],
    ['failed', 'failed'],
    ['expired', 'failed'],
    ['running', 'running'],
    ['queued', 'running'],
    ['cancelled', 'cancelled'],
    ['skipped', 'skipped'],
  ] as const)('draws a run that is %s as %s', (runStatus, kind) => {
    expect(entriesOf([told(-1, { runStatus })], [], active)[0]?.kind).toBe(kind)
  })

  it('lets only what is to come be changed, and what a person or a calendar left out be taken back', () => {
    const editable = (change: Partial<ListedOccurrence>, hours = 1) =>
      entriesOf([told(hours, { runId: null, runStatus: null, ...change })], [], active)[0]?.isEditable
    expect(editable({ outcome: 'pending' })).toBe(true)
    expect(editable({ outcome: 'pending' }, -1)).toBe(false)
    expect(editable({ outcome: 'pending', effectiveAt: at(3) }, -1)).toBe(true)
    expect(editable({ outcome: 'skipped', reason: 'edited' })).toBe(true)
    expect(editable({ outcome: 'skipped', reason: 'calendar' })).toBe(true)
    expect(editable({ outcome: 'skipped', reason: 'max-runs' })).toBe(false)
    expect(editable({ outcome: 'skipped', reason: 'edited' }, -1)).toBe(false)
    expect(entriesOf([], [instant(24 * 60)], active)[0]?.isEditable).toBe(false)
  })

  it('knows that nothing starts while the job is paused, up to the end of the pause', () => {
    const rest = { until: now + 2 * 3_600_000, reason: 'paused' as const }
    const entries = entriesOf([], [instant(1), instant(2, 'calendar'), instant(3)], { now, rest })
    expect(entries.map(({ kind, reason }) => [kind, reason])).toEqual([
      ['skipped', 'paused'],
      ['skipped', 'calendar'],
      ['coming', null],
    ])
    expect(entriesOf([], [instant(9)], { now, rest: { ...rest, until: null } })[0]?.reason).toBe('paused')
  })

  it('lets nothing of an archived job be changed, and starts nothing of it', () => {
    const rest = restOf({ state: 'archived', archivedAt: '2026-11-01T00:00:00Z', pauseUntil: null })
    const skipped = told(2, { outcome: 'skipped', reason: 'edited', runId: null, runStatus: null })
    const entries = entriesOf([skipped], [instant(1)], { now, rest })
    expect(entries.map(({ reason, isEditable }) => [reason, isEditable])).toEqual([
      ['archived', false],
      ['edited', false],
    ])
  })
})

describe('entryWords', () => {
  const [entry] = entriesOf([told(-1)], [], active)
  if (!entry) throw new Error('there is one')

  it('says what happened, and why it did not', () => {
    expect(entryWords(entry, now)).toBe('Ran')
    expect(entryWords({ ...entry, isCaughtUp: true, isMoved: true }, now)).toBe('Ran, caught up, moved')
    expect(entryWords({ ...entry, kind: 'failed' }, now)).toBe('Failed')
    expect(entryWords({ ...entry, kind: 'skipped', reason: 'overlap' }, now)).toMatch(/still going/)
    expect(entryWords({ ...entry, kind: 'missed', reason: 'catch-up', count: 1_440 }, now)).toMatch(/, 1,440 times$/)
    expect(entryWords({ ...entry, kind: 'skipped', reason: 'some-new-thing' }, now)).toBe('Skipped: some new thing')
    expect(entryWords({ ...entry, kind: 'skipped', reason: 'paused', nominalAt: now + 1 }, now)).toMatch(/^Will not/)
  })
})

describe('tally', () => {
  it('counts what stands for many as many', () => {
    expect(
      tally([
        { kind: 'missed', count: 9 },
        { kind: 'succeeded', count: 1 },
        { kind: 'missed', count: 1 },
      ]),
    ).toEqual([
      { kind: 'succeeded', count: 1 },
      { kind: 'missed', count: 10 },
    ])
  })
})

it('a range is parted where the rest of a job ends', () => {
  const range = { from: 10, to: 20 }
  expect(restingParts(range, undefined)).toEqual([{ ...range, rests: false }])
  expect(restingParts(range, { until: null, reason: 'archived' })).toEqual([{ ...range, rests: true }])
  expect(restingParts(range, { until: 15, reason: 'paused' })).toEqual([
    { from: 10, to: 15, rests: true },
    { from: 15, to: 20, rests: false },
  ])
  expect(restingParts(range, { until: 5, reason: 'paused' })).toEqual([{ ...range, rests: false }])
})
