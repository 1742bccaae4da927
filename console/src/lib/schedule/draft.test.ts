import { describe, expect, it } from 'vitest'
import {
  draftOf,
  scheduleOf,
  sentenceFits,
  writeAt,
  writeCron,
  writeEvery,
  writeKept,
  writeRrule,
  writeSentence,
} from './draft.ts'
import type { Schedule } from './schedule.ts'

const timezone = 'Europe/London'
const fresh = draftOf(undefined, timezone, '2026-11-29T09:00')

describe('the schedule builder', () => {
  it.each<Schedule>([
    { type: 'cron', cron: '25 6 * * *', timezone },
    { type: 'cron', cron: '0 0 1-7 * 1', timezone, gap: 'skip', fold: 'both' },
    { type: 'cron', cron: '25 6 * * *', timezone, startAt: '2026-12-01T00:00', endAt: '2027-01-01T00:00:00.000Z' },
    { type: 'cron', cron: '0 0 9 * * 2', timezone, dialect: 'vixie' },
    { type: 'every', every: 'PT15M' },
    { type: 'every', every: 'PT36H', anchor: '2026-01-01T00:00:00.000Z' },
    { type: 'every', every: 'PT24H' },
    { type: 'every', every: 'PT1M30S' },
    { type: 'every', every: 'P2D', anchor: '2026-01-01T06:25', timezone },
    { type: 'every', every: 'P1M', anchor: '2026-01-31T06:25', timezone, gap: 'shift', endAt: '2027-01-01T00:00' },
    { type: 'every', every: 'P1M2D', anchor: '2026-01-01T06:25', timezone },
    { type: 'rrule', rrule: 'FREQ=WEEKLY;BYDAY=MO', timezone, dtstart: '2026-01-05T09:00' },
    { type: 'rrule', rrule: ['FREQ=DAILY', 'FREQ=WEEKLY'], timezone, exdate: ['2026-12-25'] },
    { type: 'rrule', rrule: 'FREQ=DAILY', timezone, gap: 'next', maxRuns: 3, onlyOn: ['work'] },
    { type: 'cron', cron: '25 6 * * *', timezone, jitter: 'PT5M', notOn: ['holidays'], roll: 'next', maxRuns: 9 },
    { type: 'every', every: 'PT15M', window: 'PT1H' },
    { type: 'at', at: '2026-12-24T18:00', timezone, jitter: 'PT1M' },
    { type: 'at', at: '2026-12-24T18:00', timezone },
    { type: 'at', at: '2026-07-24T18:00:30.000Z', timezone },
  ])('opens and saves %j unchanged', (schedule) => {
    expect(scheduleOf(draftOf(schedule, 'UTC', ''))).toEqual(schedule)
  })

  it('shows a sentence for a cron line that has one', () => {
    expect(draftOf({ type: 'cron', cron: '25 6 * * *', timezone }, 'UTC', '')).toMatchObject({
      tab: 'sentence',
      sentence: { unit: 'day', time: '06:25' },
    })
    expect(draftOf({ type: 'cron', cron: '0 0 1-7 * 1', timezone }, 'UTC', '').tab).toBe('cron')
  })

  it('writes the sentence into the cron line', () => {
    expect(writeSentence(fresh, { unit: 'day', time: '06:25' }).cron).toBe('25 6 * * *')
  })

  it('writes the cron line into the sentence, and keeps the last sentence when there is none', () => {
    const written = writeCron(fresh, '30 18 * * 1-5')
    expect(written.sentence).toEqual({ unit: 'weekday', time: '18:30' })
    expect(sentenceFits(written)).toBe(true)
    const strange = writeCron(written, '30 18 1-7 * 1')
    expect(strange.sentence).toEqual({ unit: 'weekday', time: '18:30' })
    expect(sentenceFits(strange)).toBe(false)
  })

  it('writes an interval that a sentence can say into it', () => {
    expect(writeEvery(fresh, { count: 7, unit: 'minute' }).sentence).toEqual({ unit: 'minute', count: 7 })
    expect(writeSentence(fresh, { unit: 'minute', count: 7 }).every).toEqual({ count: 7, unit: 'minute' })
  })

  it('writes what stands beside the times, and forgets what is emptied', () => {
    const late = writeKept(fresh, { startAt: '2027-01-01T00:00', onlyOn: ['work'], gap: 'skip' })
    expect(scheduleOf(writeCron(late, '0 6 * * *'))).toMatchObject({
      startAt: '2027-01-01T00:00',
      onlyOn: ['work'],
      gap: 'skip',
    })
    // An exact interval takes no rule for clock changes.
    expect(scheduleOf(writeEvery(late, { count: 15, unit: 'minute' }))).not.toHaveProperty('gap')
    expect(writeKept(late, { startAt: '', onlyOn: [], gap: undefined }).kept).toEqual({})
  })

  it('writes a recurrence rule, from a day on or from when it is saved', () => {
    const ruled = writeRrule(fresh, { rrule: ' FREQ=DAILY ', dtstart: '' })
    expect(scheduleOf(ruled)).toEqual({ type: 'rrule', rrule: 'FREQ=DAILY', timezone })
    expect(scheduleOf(writeRrule(ruled, { rrule: 'FREQ=DAILY', dtstart: '2027-01-01T06:00' }))).toMatchObject({
      dtstart: '2027-01-01T06:00',
    })
  })

  it('drops the anchor when the interval changes', () => {
    const draft = draftOf({ type: 'every', every: 'PT36H', anchor: '2026-01-01T00:00:00.000Z' }, 'UTC', '')
    expect(scheduleOf(writeEvery(draft, { count: 2, unit: 'hour' }))).toEqual({ type: 'every', every: 'PT2H' })
  })

  it('shows a stored instant on the clock of the zone, and keeps it until the clock is changed', () => {
    const draft = draftOf({ type: 'at', at: '2026-07-24T18:00:00.000Z', timezone }, 'UTC', '')
    expect(draft.at).toBe('2026-07-24T19:00')
    expect(scheduleOf(writeAt(draft, '2026-07-24T20:00'))).toEqual({ type: 'at', at: '2026-07-24T20:00', timezone })
  })

  it('gives a calendar interval a day and a time to keep', () => {
    const draft = writeEvery(fresh, { count: 2, unit: 'day' })
    expect(scheduleOf(draft)).toEqual({ type: 'every', every: 'P2D', anchor: '2026-11-29T09:00', timezone })
    expect(scheduleOf(writeEvery(draft, { count: 2, unit: 'hour' }))).toEqual({ type: 'every', every: 'PT2H' })
  })

  it('keeps bounds when the rule is written anew', () => {
    const draft = draftOf({ type: 'cron', cron: '25 6 * * *', timezone, endAt: '2027-01-01T00:00' }, 'UTC', '')
    expect(scheduleOf(writeSentence(draft, { unit: 'weekday', time: '07:00' }))).toMatchObject({
      endAt: '2027-01-01T00:00',
    })
    expect(scheduleOf(writeCron(draft, '0 7 * * *'))).toMatchObject({ endAt: '2027-01-01T00:00' })
  })

  it('leaves what no tab can show as it is, until another tab is used', () => {
    const draft = draftOf({ type: 'rrule', rrule: ['FREQ=DAILY', 'FREQ=WEEKLY'], timezone }, 'UTC', '')
    expect(draft.tab).toBe('stored')
    expect(scheduleOf(writeCron(draft, '0 7 * * *'))).toEqual({ type: 'cron', cron: '0 7 * * *', timezone })
  })

  it('has no schedule when there is none', () => {
    expect(scheduleOf(fresh)).toBeUndefined()
    expect(sentenceFits(fresh)).toBe(false)
  })
})
