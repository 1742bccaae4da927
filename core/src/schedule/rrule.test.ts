import { describe, expect, test } from 'vitest'
import { compileSchedule, nextInstantMs, nextOccurrences } from './occurrences.ts'
import { anchorSchedule, parseSchedule, type Schedule } from './schedule.ts'

const instant = (text: string) => Temporal.Instant.from(text)
const timezone = 'America/New_York'
const rule = (rrule: string | string[], more: object = {}) => ({ type: 'rrule', rrule, timezone, ...more }) as Schedule
const locals = (schedule: Schedule, count: number, after = '1990-01-01T00:00:00Z') =>
  nextOccurrences(schedule, instant(after), count).map(({ local }) => local)
const fires = (schedule: Schedule, count: number, after = '1990-01-01T00:00:00Z') =>
  nextOccurrences(schedule, instant(after), count).map(({ nominalAt }) => nominalAt.toString())

// RFC 5545, 3.8.5.3: all at 09:00 in New York. start | rule | the first days; a rule with COUNT has no others
const examples = `
1997-09-02 | FREQ=DAILY;COUNT=10 | 1997-09-02 03 04 05 06 07 08 09 10 11
1997-09-02 | FREQ=DAILY;INTERVAL=10;COUNT=5 | 1997-09-02 12 22 1997-10-02 12
1998-01-01 | FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA | 1998-01-01 02 03 04
1997-09-02 | FREQ=WEEKLY;COUNT=10 | 1997-09-02 09 16 23 30 1997-10-07 14 21 28 1997-11-04
1997-09-01 | FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR | 1997-09-01 03 05 15 17 19 29 1997-10-01 03 13 15 17 27 29 31 1997-11-10 12 14 24 26 28 1997-12-08 10 12 22
1997-09-05 | FREQ=MONTHLY;COUNT=10;BYDAY=1FR | 1997-09-05 1997-10-03 1997-11-07 1997-12-05 1998-01-02 1998-02-06 1998-03-06 1998-04-03 1998-05-01 1998-06-05
1997-09-07 | FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU | 1997-09-07 28 1997-11-02 30 1998-01-04 25 1998-03-01 29 1998-05-03 31
1997-09-22 | FREQ=MONTHLY;COUNT=6;BYDAY=-2MO | 1997-09-22 1997-10-20 1997-11-17 1997-12-22 1998-01-19 1998-02-16
1997-09-28 | FREQ=MONTHLY;BYMONTHDAY=-3 | 1997-09-28 1997-10-29 1997-11-28 1997-12-29 1998-01-29 1998-02-26
1997-09-30 | FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1 | 1997-09-30 1997-10-01 31 1997-11-01 30 1997-12-01 31 1998-01-01 31 1998-02-01
1997-09-10 | FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15 | 1997-09-10 11 12 13 14 15 1999-03-10 11 12 13
1997-09-02 | FREQ=MONTHLY;INTERVAL=2;BYDAY=TU | 1997-09-02 09 16 23 30 1997-11-04 11 18 25 1998-01-06
1997-03-10 | FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3 | 1997-03-10 1999-01-10 1999-02-10 1999-03-10 2001-01-10 2001-02-10 2001-03-10 2003-01-10 2003-02-10 2003-03-10
1997-01-01 | FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200 | 1997-01-01 1997-04-10 1997-07-19 2000-01-01 2000-04-09 2000-07-18 2003-01-01 2003-04-10 2003-07-19 2006-01-01
1997-05-19 | FREQ=YEARLY;BYDAY=20MO | 1997-05-19 1998-05-18 1999-05-17
1997-05-12 | FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO | 1997-05-12 1998-05-11 1999-05-17
1997-03-13 | FREQ=YEARLY;BYMONTH=3;BYDAY=TH | 1997-03-13 20 27 1998-03-05 12 19 26 1999-03-04
1997-09-02 | FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13 | 1998-02-13 1998-03-13 1998-11-13 1999-08-13 2000-10-13
1997-09-13 | FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13 | 1997-09-13 1997-10-11 1997-11-08 1997-12-13 1998-01-10
1996-11-05 | FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8 | 1996-11-05 2000-11-07 2004-11-02
1997-09-04 | FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3 | 1997-09-04 1997-10-07 1997-11-06
1997-09-29 | FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2 | 1997-09-29 1997-10-30 1997-11-27 1997-12-30 1998-01-29 1998-02-26 1998-03-30
1997-08-05 | FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO | 1997-08-05 10 19 24
1997-08-05 | FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU | 1997-08-05 17 19 31
2007-01-15 | FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5 | 2007-01-15 30 2007-02-15 2007-03-15 30
`

describe('the examples of RFC 5545', () => {
  const rows = examples
    .trim()
    .split('\n')
    .map((row) => row.split(' | '))
  test.each(rows)('from %s: %s', (start = '', rrule = '', list = '') => {
    let month = ''
    const days = list.split(' ').map((text) => {
      if (text.length > 2) month = text.slice(0, 8)
      return text.length > 2 ? text : month + text
    })
    const isWhole = rrule.includes('COUNT') || (rrule.includes('UNTIL') && days.length > 4)
    expect(locals(rule(rrule, { dtstart: `${start}T09:00` }), isWhole ? 100 : days.length)).toEqual(
      days.map((day) => `${day}T09:00:00`),
    )
  })

  test('daily until Christmas passes the end of summer time', () => {
    const daily = fires(rule('FREQ=DAILY;UNTIL=19971224T000000Z', { dtstart: '1997-09-02T09:00' }), 1000)
    expect(daily).toHaveLength(113)
    expect([daily[0], daily.at(-1)]).toEqual(['1997-09-02T13:00:00Z', '1997-12-23T14:00:00Z'])
  })

  test.each([
    ['FREQ=MINUTELY;INTERVAL=15;COUNT=6', '09:00 09:15 09:30 09:45 10:00 10:15'],
    ['FREQ=MINUTELY;INTERVAL=90;COUNT=4', '09:00 10:30 12:00 13:30'],
    ['FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z', '09:00 12:00 15:00'],
    ['FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0,20,40;COUNT=5', '09:00 09:20 09:40 10:00 10:20'],
    ['FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10;COUNT=5', '09:00 09:20 09:40 10:00 10:20'],
    ['FREQ=SECONDLY;INTERVAL=45;BYMINUTE=0,1;COUNT=4', '09:00 09:00:45 09:01:30 10:00'],
  ])('%s', (rrule, times) => {
    expect(locals(rule(rrule, { dtstart: '1997-09-02T09:00' }), 100).map((local) => local.slice(11))).toEqual(
      times.split(' ').map((time) => time.padEnd(8, ':00')),
    )
  })
})

describe('at clock changes', () => {
  const london = { timezone: 'Europe/London', dtstart: '2026-03-27T01:30' }

  test('a time that does not exist is left out, unless another rule is chosen', () => {
    const daily = 'FREQ=DAILY;COUNT=3'
    expect(fires(rule(daily, london), 9)).toEqual([
      '2026-03-27T01:30:00Z',
      '2026-03-28T01:30:00Z',
      '2026-03-30T00:30:00Z',
    ])
    expect(fires(rule(daily, { ...london, gap: 'next' }), 9)[2]).toBe('2026-03-29T01:00:00Z')
    expect(fires(rule(daily, { ...london, gap: 'shift' }), 9)[2]).toBe('2026-03-29T01:30:00Z')
  })

  test('COUNT counts both instants of a repeated time, when both are asked for', () => {
    const autumn = { ...london, dtstart: '2026-10-24T01:30', fold: 'both' }
    expect(fires(rule('FREQ=DAILY;COUNT=3', autumn), 9)).toEqual([
      '2026-10-24T00:30:00Z',
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:30:00Z',
    ])
  })

  test('an hourly rule follows real time', () => {
    const hourly = (rrule: string, dtstart: string) =>
      fires(rule(rrule, { ...london, dtstart, gap: 'shift' }), 4, '2026-01-01T00:00:00Z')
    expect(hourly('FREQ=HOURLY', '2026-03-29T00:00')).toEqual([0, 1, 2, 3].map((hour) => `2026-03-29T0${hour}:00:00Z`))
    expect(hourly('FREQ=HOURLY', '2026-10-25T00:00')).toEqual([
      '2026-10-24T23:00:00Z',
      '2026-10-25T00:00:00Z',
      '2026-10-25T01:00:00Z',
      '2026-10-25T02:00:00Z',
    ])
    // A plain interval is exact time, one with other parts asks the wall clock: each time as often as it exists.
    expect(hourly('FREQ=HOURLY;INTERVAL=2', '2026-03-29T00:00')).toEqual(
      [0, 2, 4, 6].map((hour) => `2026-03-29T0${hour}:00:00Z`),
    )
    expect(hourly('FREQ=HOURLY;BYHOUR=0,1,2,3', '2026-03-29T00:00').slice(0, 3)).toEqual([
      '2026-03-29T00:00:00Z',
      '2026-03-29T01:00:00Z',
      '2026-03-29T02:00:00Z',
    ])
  })
})

describe('a set', () => {
  const dtstart = '2026-01-05T09:00'

  test('is all rules and single times together, less the excluded', () => {
    const set = rule(['FREQ=WEEKLY;BYDAY=MO', 'RRULE:FREQ=MONTHLY;BYMONTHDAY=6'], {
      dtstart,
      rdate: ['2026-01-07T12:00', '2026-01-08T12:00:00Z', '2026-01-09', '20260110T100000'],
      exdate: ['2026-01-12T09:00', '2026-01-19', '2026-01-26T14:00:00Z'],
    })
    expect(locals(set, 8, '2026-01-01T00:00:00Z')).toEqual([
      '2026-01-05T09:00:00',
      '2026-01-06T09:00:00',
      '2026-01-07T12:00:00',
      '2026-01-08T07:00:00',
      '2026-01-09T09:00:00',
      '2026-01-10T10:00:00',
      '2026-02-02T09:00:00',
      '2026-02-06T09:00:00',
    ])
  })

  test('equal instants are one', () => {
    const set = rule(['FREQ=DAILY', 'FREQ=DAILY;INTERVAL=2'], { dtstart, rdate: ['2026-01-06T09:00'] })
    expect(locals(set, 3)).toEqual(['05', '06', '07'].map((day) => `2026-01-${day}T09:00:00`))
  })

  test('COUNT ends its own rule, and counts what is excluded', () => {
    const set = rule(['FREQ=DAILY;COUNT=3', 'FREQ=WEEKLY;COUNT=2'], { dtstart, exdate: ['2026-01-06'] })
    expect(locals(set, 9)).toEqual(['05', '07', '12'].map((day) => `2026-01-${day}T09:00:00`))
  })

  test('is read from a pasted event', () => {
    const event = [
      'BEGIN:VCALENDAR',
      'BEGIN:VTIMEZONE',
      'TZID:America/New_York',
      'BEGIN:STANDARD',
      'DTSTART:19671029T020000',
      'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10',
      'END:STANDARD',
      'END:VTIMEZONE',
      'BEGIN:VEVENT',
      'SUMMARY:Nightly: all of it',
      'DTSTART;TZID="America/New_York":20260105T090000',
      'DTEND;TZID=America/New_York:20260105T100000',
      'RRULE:FREQ=WEEKLY;BYDAY=MO,',
      ' WE;COUNT=4',
      'EXDATE;TZID=America/New_York:20260107T090000',
      'RDATE:20260108T140000Z',
      'END:VEVENT',
      'END:VCALENDAR',
    ].join('\r\n')
    expect(parseSchedule(rule(event))).toMatchObject({ ok: true })
    expect(locals(rule(event), 9)).toEqual(['05', '08', '12', '14'].map((day) => `2026-01-${day}T09:00:00`))
  })

  test('may be single times alone', () => {
    expect(locals(rule('RDATE:20260105T090000,20260301T090000'), 9)).toEqual([
      '2026-01-05T09:00:00',
      '2026-03-01T09:00:00',
    ])
  })

  test('with many excluded days of a rule of seconds', () => {
    const exdate = Array.from({ length: 1000 }, (_, day) =>
      Temporal.PlainDate.from('2026-01-05').add({ days: day }).toString(),
    )
    expect(locals(rule('FREQ=SECONDLY', { dtstart, exdate }), 1)).toEqual(['2028-10-01T00:00:00'])
  })
})

describe('a start', () => {
  const created = instant('2026-03-28T12:00:07.123Z')
  const anchored = (rrule: string, more: object = {}) => anchorSchedule(rule(rrule, more), created)

  test('that is missing is the next whole minute after the creation', () => {
    expect(anchored('FREQ=DAILY;COUNT=2')).toMatchObject({ dtstart: '2026-03-28T12:01:00.000Z' })
    expect(fires(anchored('FREQ=DAILY;COUNT=2'), 9)).toEqual(['2026-03-28T12:01:00Z', '2026-03-29T12:01:00Z'])
  })

  test('leaves minutes at zero where a rule names hours only', () => {
    expect(locals(anchored('FREQ=DAILY;BYHOUR=9'), 1)).toEqual(['2026-03-28T09:00:00'])
    expect(locals(anchored('FREQ=DAILY;BYHOUR=8;BYMINUTE=10'), 1)).toEqual(['2026-03-28T08:10:00'])
    expect(locals(anchored('FREQ=SECONDLY'), 1)).toEqual(['2026-03-28T08:00:08'])
  })

  test('is `startAt`, when there is one', () => {
    expect(locals(anchored('FREQ=WEEKLY', { startAt: '2026-05-01T09:00' }), 2)).toEqual([
      '2026-05-01T09:00:00',
      '2026-05-08T09:00:00',
    ])
  })

  test('that a rule has stays', () => {
    const block = rule('DTSTART:20260101T090000\nRRULE:FREQ=DAILY')
    expect(anchorSchedule(block, created)).toBe(block)
  })

  test('is needed to compile', () => {
    expect(() => compileSchedule(rule('FREQ=DAILY'))).toThrow('start')
    expect(() => compileSchedule(rule('FREQ=OFTEN', { dtstart: '2026-01-01' }))).toThrow('FREQ')
  })
})

test('a rule without a time for 60 years has ended', () => {
  const never = rule('FREQ=YEARLY;INTERVAL=43;BYMONTH=2;BYMONTHDAY=29', { dtstart: '2028-02-29T09:00' })
  const compiled = compileSchedule(never)
  expect(nextInstantMs(compiled, Date.UTC(2026, 0))).toBe(Date.UTC(2028, 1, 29, 14))
  expect(nextInstantMs(compiled, Date.UTC(2030, 0))).toBeNull()
})
