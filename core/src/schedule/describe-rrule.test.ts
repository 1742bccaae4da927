import { describe, expect, test } from 'vitest'
import { describeSchedule } from './describe.ts'
import { compileSchedule } from './occurrences.ts'
import { previewSchedule } from './preview.ts'
import type { Schedule } from './schedule.ts'
import { scheduleWarnings } from './warnings.ts'

const after = Temporal.Instant.from('2026-03-01T00:00:00Z')
const warnings = (schedule: Schedule) => scheduleWarnings(compileSchedule(schedule), after)

describe('plain words', () => {
  const dtstart = '2026-01-31T09:00'
  test.each<[string | string[], object, string]>([
    ['FREQ=DAILY', { dtstart }, 'Every day at 09:00'],
    ['FREQ=DAILY;INTERVAL=2;BYHOUR=9,17;BYMINUTE=0,30', { dtstart }, 'Every 2 days at 09:00, 09:30, 17:00 and 17:30'],
    ['FREQ=DAILY;BYHOUR=9,10,11,12,13', { dtstart }, 'Every day in hours 9 to 13'],
    [
      'FREQ=DAILY;BYHOUR=9,10,11;BYMINUTE=0,30;BYSECOND=5',
      { dtstart },
      'Every day at second 5 in minutes 0 and 30 in hours 9 to 11',
    ],
    ['FREQ=WEEKLY', { dtstart }, 'Every week on Saturday at 09:00'],
    ['FREQ=WEEKLY;BYDAY=SU,MO,TU,WE', { dtstart }, 'Every week on Monday to Wednesday and Sunday at 09:00'],
    ['FREQ=MONTHLY', { dtstart }, 'Every month on the 31st at 09:00'],
    [
      'FREQ=MONTHLY;BYDAY=-1FR,2MO;COUNT=10',
      { dtstart },
      'Every month on the last Friday and the 2nd Monday at 09:00, 10 times',
    ],
    ['FREQ=MONTHLY;BYMONTHDAY=-2,1', { dtstart }, 'Every month on the 2nd last day and the 1st at 09:00'],
    ['FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13', { dtstart }, 'Every month on the 13th, only when that is Friday at 09:00'],
    [
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
      { dtstart },
      'Every month on Monday to Friday at 09:00, of these only the last of each month',
    ],
    ['FREQ=YEARLY', { dtstart }, 'Every year on the 31st of January at 09:00'],
    ['FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU', { dtstart }, 'Every year on the last Sunday of March and October at 09:00'],
    ['FREQ=YEARLY;BYMONTH=3;BYDAY=TH', { dtstart }, 'Every year on Thursday in March at 09:00'],
    ['FREQ=YEARLY;BYMONTHDAY=1', { dtstart }, 'Every year on the 1st of every month at 09:00'],
    ['FREQ=YEARLY;BYYEARDAY=100,-1', { dtstart }, 'Every year on the last day and day 100 of the year at 09:00'],
    ['FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO', { dtstart }, 'Every year on Monday in week 20 of the year at 09:00'],
    ['FREQ=YEARLY;BYDAY=20MO;COUNT=1', { dtstart }, 'Every year on the 20th Monday of the year at 09:00, once'],
    [
      'FREQ=HOURLY;INTERVAL=5;BYDAY=MO;UNTIL=20261231T120000Z',
      { dtstart },
      'Every 5 hours on Monday, until 2026-12-31 12:00 UTC',
    ],
    ['FREQ=MINUTELY;BYHOUR=9;UNTIL=20261231', { dtstart }, 'Every minute in hour 9, until 2026-12-31'],
    [
      ['FREQ=DAILY', 'FREQ=WEEKLY'],
      { dtstart, rdate: ['2026-05-01'] },
      'Every day at 09:00; and every week on Saturday at 09:00; and at 1 single time',
    ],
    ['FREQ=DAILY', { dtstart, exdate: ['2026-02-01', '2026-02-02'] }, 'Every day at 09:00 (2 exclusions)'],
  ])('rrule %j with %j', (rrule, more, words) => {
    const schedule = { type: 'rrule', rrule, timezone: 'Europe/London', ...more } as Schedule
    expect(describeSchedule(schedule)).toBe(`${words}, counted from 2026-01-31 09:00, Europe/London`)
  })

  test('a rule without a start counts from the creation, single times from nothing', () => {
    const rule = (rrule: string, more: object = {}): Schedule => ({ type: 'rrule', rrule, timezone: 'UTC', ...more })
    expect(describeSchedule(rule('FREQ=WEEKLY;BYHOUR=9;BYMINUTE=5'))).toBe(
      'Every week at 09:05, counted from the creation of the job, UTC',
    )
    expect(describeSchedule(rule('FREQ=DAILY', { startAt: '2026-01-01T08:00Z' }))).toBe(
      'Every day at 08:00, counted from 2026-01-01 08:00, UTC, not before 2026-01-01 08:00, UTC',
    )
    expect(describeSchedule(rule('RDATE:20260101T000000,20260102T000000'))).toBe('At 2 single times, UTC')
  })
})

describe('warnings', () => {
  const rule = (rrule: string, more: object = {}): Schedule =>
    ({ type: 'rrule', rrule, timezone: 'Europe/Berlin', dtstart: '2026-01-31T09:00', ...more }) as Schedule

  test('none for a plain one', () => {
    expect(warnings(rule('FREQ=DAILY'))).toEqual([])
    expect(warnings(rule('FREQ=HOURLY'))).toEqual([])
    expect(warnings(rule('FREQ=MINUTELY;BYDAY=SA'))).toEqual([])
  })

  test.each<[string, object, RegExp]>([
    ['FREQ=MONTHLY', {}, /Months without day 31 are left out; BYMONTHDAY=-1/],
    ['FREQ=YEARLY', { dtstart: '2024-02-29T09:00' }, /29 February exists in leap years only/],
    ['FREQ=DAILY;BYDAY=MO', {}, /DTSTART, 2026-01-31 09:00, is none of its times/],
    ['FREQ=HOURLY', { gap: 'next' }, /`gap` and `fold` have no effect/],
    ['FREQ=HOURLY;INTERVAL=48', {}, /exact time: after a clock change in Europe\/Berlin/],
    ['FREQ=DAILY', { exdate: ['2026-03-05T10:00'] }, /EXDATE 2026-03-05 10:00 excludes nothing/],
    ['FREQ=WEEKLY', { exdate: ['2026-03-05'] }, /EXDATE 2026-03-05 excludes nothing/],
    ['FREQ=WEEKLY', { exdate: ['2026-03-07T09:00Z'] }, /EXDATE 2026-03-07 10:00 excludes nothing/],
    ['FREQ=DAILY', { dtstart: '2026-01-01T02:30' }, /On 2026-03-29 .* 02:30 does not exist, so it does not run then/],
    [
      'FREQ=HOURLY;INTERVAL=2;BYDAY=SU',
      { dtstart: '2026-01-04T00:00' },
      /On 2026-10-25 .* 02:00 happens twice, and it runs at both/,
    ],
  ])('%s with %j', (rrule, more, warning) => {
    expect(warnings(rule(rrule, more))).toEqual(expect.arrayContaining([expect.stringMatching(warning)]))
  })

  test('none for exclusions that exclude', () => {
    expect(warnings(rule('FREQ=DAILY', { exdate: ['2026-03-05T09:00', '2026-03-06', '2026-03-07T08:00Z'] }))).toEqual(
      [],
    )
  })

  test('without a start', () => {
    const { warnings: told } = previewSchedule({ type: 'rrule', rrule: 'FREQ=DAILY', timezone: 'UTC' }, after, 1)
    expect(told).toEqual(['It has no DTSTART: its time of day comes from the creation of the job.'])
  })
})
