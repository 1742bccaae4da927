import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Sentence, scheduleToSentence, sentenceToSchedule, units, withUnit } from './sentence.ts'

const zone = 'Europe/London'
const cron = (line: string) => ({ type: 'cron', cron: line, timezone: zone }) as const

describe('a sentence and its schedule', () => {
  it.each<[Sentence, string]>([
    [{ unit: 'day', time: '06:25' }, '25 6 * * *'],
    [{ unit: 'weekday', time: '09:00' }, '0 9 * * 1-5'],
    [{ unit: 'week', weekdays: [1, 4], time: '23:59' }, '59 23 * * 1,4'],
    [{ unit: 'month', monthDay: 1, time: '00:00' }, '0 0 1 * *'],
    [{ unit: 'month', monthDay: 'last', time: '18:30' }, '30 18 L * *'],
    [{ unit: 'minute', count: 1 }, '* * * * *'],
    [{ unit: 'minute', count: 15 }, '*/15 * * * *'],
    [{ unit: 'hour', count: 1, minute: 5 }, '5 * * * *'],
    [{ unit: 'hour', count: 6, minute: 0 }, '0 */6 * * *'],
  ])('%j is %s, both ways', (sentence, line) => {
    expect(sentenceToSchedule(sentence, zone)).toEqual(cron(line))
    expect(scheduleToSentence(cron(line))).toEqual(sentence)
  })

  it.each<[Sentence, string]>([
    [{ unit: 'minute', count: 7 }, 'PT7M'],
    [{ unit: 'minute', count: 90 }, 'PT1H30M'],
    [{ unit: 'hour', count: 5, minute: 0 }, 'PT5H'],
    [{ unit: 'hour', count: 36, minute: 0 }, 'PT36H'],
  ])('%j does not divide the clock, so it is the interval %s', (sentence, every) => {
    expect(sentenceToSchedule(sentence, zone)).toEqual({ type: 'every', every })
    expect(scheduleToSentence({ type: 'every', every })).toEqual(sentence)
  })

  it.each(['25 6 * * MON-FRI', '25 6 * * 1-5'])('%s is every weekday', (line) => {
    expect(scheduleToSentence(cron(line))).toEqual({ unit: 'weekday', time: '06:25' })
  })

  it('reads 7 and SUN as Sunday', () => {
    expect(scheduleToSentence(cron('0 9 * * 7'))).toEqual({ unit: 'week', weekdays: [0], time: '09:00' })
    expect(scheduleToSentence(cron('0 9 * * SUN,3'))).toEqual({ unit: 'week', weekdays: [0, 3], time: '09:00' })
  })

  it.each([
    '0 0 1 1 *',
    '0 0 1 * 1',
    '*/7 * * * *',
    '0 */5 * * *',
    '5/15 * * * *',
    '0 9-17 * * *',
    '0 0 * * * *',
    '@daily',
    '61 6 * * *',
    '',
  ])('says nothing about %j, which no sentence means', (line) => {
    expect(scheduleToSentence(cron(line))).toBeUndefined()
  })

  it('says nothing about an interval that would read back as a cron line', () => {
    expect(scheduleToSentence({ type: 'every', every: 'PT15M' })).toBeUndefined()
    expect(scheduleToSentence({ type: 'every', every: 'PT1H' })).toBeUndefined()
    expect(scheduleToSentence({ type: 'every', every: 'PT30S' })).toBeUndefined()
  })

  it('says nothing about calendar intervals and other dialects', () => {
    expect(scheduleToSentence({ type: 'every', every: 'P1D' })).toBeUndefined()
  })

  it('never change meaning when read back', () => {
    const time = fc
      .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
      .map(([hour, minute]) => `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`)
    const sentence = fc.oneof(
      fc.record({ unit: fc.constant('minute' as const), count: fc.integer({ min: 1, max: 500 }) }),
      fc.record({
        unit: fc.constant('hour' as const),
        count: fc.integer({ min: 1, max: 100 }),
        minute: fc.integer({ min: 0, max: 59 }),
      }),
      fc.record({ unit: fc.constantFrom('day' as const, 'weekday' as const), time }),
      fc.record({
        unit: fc.constant('week' as const),
        weekdays: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }),
        time,
      }),
      fc.record({ unit: fc.constant('month' as const), monthDay: fc.integer({ min: 1, max: 31 }), time }),
    )
    fc.assert(
      fc.property(sentence, (written) => {
        const schedule = sentenceToSchedule(written, zone)
        const read = scheduleToSentence(schedule)
        if (read) expect(sentenceToSchedule(read, zone)).toEqual(schedule)
        else expect(schedule.type).toBe('every')
      }),
    )
  })
})

describe('picking another unit', () => {
  it('always gives a sentence that means something', () => {
    for (const from of units) {
      for (const to of units) {
        const sentence = withUnit(to, withUnit(from, { unit: 'day', time: '06:25' }))
        expect(sentence.unit).toBe(to)
        expect(() => sentenceToSchedule(sentence, zone)).not.toThrow()
      }
    }
  })

  it('keeps the time of day', () => {
    expect(withUnit('month', { unit: 'day', time: '06:25' })).toMatchObject({ time: '06:25' })
  })
})
