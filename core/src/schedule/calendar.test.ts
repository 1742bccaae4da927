import { describe, expect, test } from 'vitest'
import { calendarSchema, compileCalendar } from './calendar.ts'
import { calendarFromIcs } from './calendar-ics.ts'
import { dayMs, dayOf } from './civil.ts'
import type { DecideOptions } from './decide.ts'
import { type FullSchedule, parseFullSchedule } from './full-schedule.ts'
import { holidayDays } from './holidays.ts'
import { compileSchedule, nextOccurrences } from './occurrences.ts'
import { nativeZones } from './zone.ts'

const instant = (text: string) => Temporal.Instant.from(text)
const weekend = compileCalendar({ weekly: [{ days: ['SAT', 'SUN'], from: '00:00', until: '24:00' }] })
const office = compileCalendar({
  weekly: [{ days: ['MON', 'TUE', 'WED', 'THU', 'FRI'], from: '09:00', until: '17:00' }],
})
const christmas = compileCalendar({
  dates: ['2026-12-25'],
  ranges: [{ from: '2026-12-24T12:00', until: '2026-12-26' }],
})
const calendars = { weekend, office, christmas }

/** `effective`, or `- reason`, one for each nominal instant, on the wall clock. */
function outcomes(schedule: FullSchedule, after: string, count: number, options: DecideOptions = {}): string[] {
  const compiled = compileSchedule(schedule, nativeZones, { calendars, ...options })
  return nextOccurrences(compiled, instant(after), count).map(({ local, effectiveAt, skipped }) => {
    const effective = effectiveAt
      .toZonedDateTimeISO(compiled.zone.id)
      .toPlainDateTime()
      .toString({ smallestUnit: 'minute' })
    return `${local.slice(5, 16).replace('T', ' ')} ${skipped ? `- ${skipped}` : effective.slice(5)}`
  })
}
const cron = (text: string, more: object): FullSchedule => ({
  type: 'cron',
  cron: text,
  timezone: 'Europe/London',
  ...more,
})

describe('a calendar', () => {
  const ranges = (cover: typeof office, date: string) => {
    const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
    return cover
      .rangesOn(dayOf({ year, month, day }))
      .map(({ from, until }) => `${from / 3_600_000}-${until / 3_600_000}`)
  }

  test('holds what any of its parts holds', () => {
    expect(['2026-12-24', '2026-12-25', '2026-12-26', '2026-12-27'].map((date) => ranges(christmas, date))).toEqual([
      ['12-24'],
      ['0-24'],
      ['0-24'],
      [],
    ])
    expect([ranges(office, '2026-11-27'), ranges(office, '2026-11-28')]).toEqual([['9-17'], []])
    const joined = compileCalendar({
      weekly: [
        { days: ['MON'], from: '09:00', until: '12:00' },
        { days: ['MON'], from: '12:00', until: '13:00' },
        { days: ['MON'], from: '15:00', until: '24:00' },
      ],
    })
    expect(ranges(joined, '2026-11-30')).toEqual(['9-13', '15-24'])
  })

  test.each([
    [{ dates: ['2026-02-30'] }, 'dates.0'],
    [{ ranges: [{ from: '2026-01-02', until: '2026-01-01' }] }, 'ranges.0.until'],
    [{ ranges: [{ from: '2026-01-02T00:00Z', until: '2026-01-03' }] }, 'ranges.0.from'],
    [{ weekly: [{ days: ['MON'], from: '09:00', until: '09:00' }] }, 'weekly.0.until'],
    [{ weekly: [{ days: ['MON'], from: '24:30', until: '25:00' }] }, 'weekly.0.from'],
    [{ holidays: [{ country: 'de' }] }, 'holidays.0.country'],
    [{ other: 1 }, ''],
  ])('%j is refused', (calendar, path) => {
    const parsed = calendarSchema.safeParse(calendar)
    expect(parsed.error?.issues.map((issue) => issue.path.join('.'))).toContain(path)
  })

  test('has the holidays of a place, whose data whoever wants them brings', () => {
    const calendar = { holidays: [{ country: 'GB', state: 'ENG' }] }
    const bank = compileCalendar(calendar, holidayDays)
    expect(ranges(bank, '2026-12-28')).toEqual(['0-24'])
    expect(ranges(bank, '2026-12-29')).toEqual([])
    expect(ranges(bank, '2027-03-26')).toEqual(['0-24'])
    expect(() => compileCalendar(calendar)).toThrow('source')
    expect(() => holidayDays({ country: 'XX' }, 2026)).toThrow('XX')
    expect(holidayDays({ country: 'DE', state: 'BY' }, 2026)).toContain(dayOf({ year: 2026, month: 1, day: 6 }))
    expect(holidayDays({ country: 'DE' }, 2026)).not.toContain(dayOf({ year: 2026, month: 1, day: 6 }))
  })
})

describe('an iCalendar file', () => {
  const options = { timezone: 'Europe/Berlin', fromMs: Date.UTC(2026, 0), untilMs: Date.UTC(2029, 0) }
  const event = (...lines: string[]) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT'].join('\r\n')

  test('gives dates, ranges and repeated ones', () => {
    const file = [
      event('SUMMARY:Day', 'DTSTART;VALUE=DATE:20260501'),
      event('SUMMARY:Days', 'DTSTART;VALUE=DATE:20260801', 'DTEND;VALUE=DATE:20260815'),
      event('SUMMARY:Yearly', 'DTSTART;VALUE=DATE:20201003', 'RRULE:FREQ=YEARLY'),
      event('SUMMARY:Meeting', 'DTSTART:20260601T080000Z', 'DURATION:PT90M'),
      event(
        'SUMMARY:Elsewhere',
        'DTSTART;TZID=America/New_York:20260601T090000',
        'DTEND;TZID=America/New_York:20260601T100000',
      ),
      event('SUMMARY:Off', 'STATUS:CANCELLED', 'DTSTART;VALUE=DATE:20260502'),
    ].join('\r\n')
    expect(calendarFromIcs(file, options)).toEqual({
      calendar: {
        dates: ['2026-05-01', '2026-10-03', '2027-10-03', '2028-10-03'],
        ranges: [
          { from: '2026-08-01T00:00', until: '2026-08-15T00:00' },
          { from: '2026-06-01T10:00', until: '2026-06-01T11:30' },
          { from: '2026-06-01T15:00', until: '2026-06-01T16:00' },
        ],
      },
      problems: [],
    })
    expect(calendarSchema.safeParse(calendarFromIcs(file, options).calendar).success).toBe(true)
  })

  test('says what it leaves out', () => {
    const file = [
      event('SUMMARY:No start'),
      event('SUMMARY:No length', 'DTSTART:20260601T080000Z'),
      event('SUMMARY:Nowhere', 'DTSTART;TZID=Mars/Phobos:20260601T080000', 'DURATION:PT1H'),
      event('SUMMARY:Too often', 'DTSTART:20260601T080000Z', 'DURATION:PT1S', 'RRULE:FREQ=MINUTELY'),
      event('SUMMARY:Bad rule', 'DTSTART:20260601T080000Z', 'DURATION:PT1H', 'RRULE:FREQ=OFTEN'),
    ].join('\n')
    const { calendar, problems } = calendarFromIcs(file, options)
    expect(calendar).toEqual({ dates: [], ranges: [] })
    expect(problems.map((problem) => problem.split(':')[0])).toEqual([
      'No start',
      'No length',
      'Nowhere',
      'Too often',
      'Bad rule',
    ])
    expect(calendarFromIcs('nonsense', options)).toEqual({ calendar: { dates: [], ranges: [] }, problems: [] })
    expect(calendarFromIcs('x'.repeat(2_000_001), options).problems).toHaveLength(1)
  })
})

describe('occurrences outside the calendars', () => {
  const friday = '2026-11-27T00:00:00Z'

  test.each([
    ['skip', ['11-28 09:00 - calendar', '11-29 09:00 - calendar', '11-30 09:00 11-30T09:00']],
    ['next', ['11-28 09:00 - calendar', '11-29 09:00 - calendar', '11-30 09:00 11-30T09:00']],
    ['previous', ['11-28 09:00 - calendar', '11-29 09:00 - calendar', '11-30 09:00 11-30T09:00']],
  ])('of a daily job are none where it runs anyway: %s', (roll, rest) => {
    expect(outcomes(cron('0 9 * * *', { notOn: ['weekend'], roll }), friday, 4)).toEqual([
      '11-27 09:00 11-27T09:00',
      ...rest,
    ])
  })

  test.each([
    ['next', ['01-31 09:00 02-02T09:00', '02-28 09:00 03-02T09:00', '03-31 09:00 03-31T09:00']],
    ['previous', ['01-31 09:00 01-30T09:00', '02-28 09:00 02-27T09:00', '03-31 09:00 03-31T09:00']],
    ['modified-following', ['01-31 09:00 01-30T09:00', '02-28 09:00 02-27T09:00', '03-31 09:00 03-31T09:00']],
    ['skip', ['01-31 09:00 - calendar', '02-28 09:00 - calendar', '03-31 09:00 03-31T09:00']],
  ])('of the last day of a month: %s', (roll, expected) => {
    expect(outcomes(cron('0 9 L * *', { notOn: ['weekend'], roll }), '2026-01-01T00:00:00Z', 3)).toEqual(expected)
  })

  test('modified-following goes forward within the month', () => {
    expect(
      outcomes(cron('0 9 15 * *', { notOn: ['weekend'], roll: 'modified-following' }), '2026-02-01T00:00:00Z', 1),
    ).toEqual(['02-15 09:00 02-16T09:00'])
  })

  test('go to the start of the next opening, or the last minute of the one before', () => {
    const evening = (roll: string) => outcomes(cron('0 20 27,28 * *', { onlyOn: ['office'], roll }), friday, 2)
    expect(evening('next')).toEqual(['11-27 20:00 11-30T09:00', '11-28 20:00 - calendar'])
    expect(evening('previous')).toEqual(['11-27 20:00 11-27T16:59', '11-28 20:00 - calendar'])
    expect(outcomes(cron('0 6 27 * *', { onlyOn: ['office'], roll: 'next' }), friday, 1)).toEqual([
      '11-27 06:00 11-27T09:00',
    ])
  })

  test('every calendar has to agree', () => {
    const both = cron('0 * * * *', { onlyOn: ['office'], notOn: ['christmas', 'weekend'] })
    expect(outcomes(both, '2026-12-24T10:30:00Z', 3)).toEqual([
      '12-24 11:00 12-24T11:00',
      '12-24 12:00 - calendar',
      '12-24 13:00 - calendar',
    ])
  })

  test('are skipped when nothing is open near', () => {
    const never = { never: compileCalendar({}) }
    expect(outcomes(cron('0 9 1 * *', { onlyOn: ['never'], roll: 'next' }), friday, 1, { calendars: never })).toEqual([
      '12-01 09:00 - calendar',
    ])
  })

  test('need looking ahead only to roll back', () => {
    const lead = (roll: string) =>
      compileSchedule(cron('0 9 * * *', { notOn: ['weekend'], roll }), nativeZones, { calendars }).leadMs
    expect([lead('skip'), lead('next')]).toEqual([0, 0])
    expect(lead('previous')).toBe(33 * dayMs)
  })

  test('a calendar that is not given is an error', () => {
    expect(() => compileSchedule(cron('0 9 * * *', { notOn: ['nowhere'] }))).toThrow('"nowhere"')
    expect(() => compileSchedule(cron('0 9 * * *', { notOn: ['toString'] }))).toThrow('"toString"')
    expect(parseFullSchedule(cron('0 9 * * *', { notOn: ['nowhere'] })).ok).toBe(true)
  })
})

describe('blackouts', () => {
  const blackout = { name: 'deploy', fromMs: Date.UTC(2026, 10, 27, 9), untilMs: Date.UTC(2026, 10, 27, 11) }
  const hourly = cron('0 * * * *', {})

  test('skip what falls into them, their end excluded', () => {
    expect(outcomes(hourly, '2026-11-27T08:30:00Z', 3, { blackouts: [blackout] })).toEqual([
      '11-27 09:00 - blackout',
      '11-27 10:00 - blackout',
      '11-27 11:00 11-27T11:00',
    ])
  })

  test('or let it wait, through the next one too', () => {
    const second = {
      name: 'more',
      fromMs: blackout.untilMs,
      untilMs: blackout.untilMs + 3_600_000,
      roll: 'next' as const,
    }
    expect(outcomes(hourly, '2026-11-27T08:30:00Z', 1, { blackouts: [second, { ...blackout, roll: 'next' }] })).toEqual(
      ['11-27 09:00 11-27T12:00'],
    )
  })
})
