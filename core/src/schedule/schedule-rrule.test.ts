import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileSchedule, nextInstantMs } from './occurrences.ts'
import { anchorSchedule, type ParsedSchedule, parseSchedule } from './schedule.ts'

const seed = Number(process.env.PROPERTY_SEED ?? 20_261_129)

const ruleIn = (rrule: unknown, more: object = {}) =>
  parseSchedule({ type: 'rrule', rrule, timezone: 'Europe/Berlin', ...more })
const problems = (parsed: ParsedSchedule) => (parsed.ok ? [] : parsed.problems)

const numbers = (count: number, from = 0): string => Array.from({ length: count }, (_, index) => index + from).join(',')

describe('what is accepted', () => {
  test.each<[unknown, object]>([
    ['FREQ=DAILY', {}],
    ['freq=weekly;byday=mo,we;', { dtstart: '2026-01-01T09:00' }],
    ['RRULE:FREQ=MONTHLY;BYDAY=-1FR,+2MO', { gap: 'next', fold: 'both' }],
    [
      ['FREQ=DAILY;COUNT=3', 'FREQ=YEARLY;UNTIL=20300101'],
      { dtstart: '20260101T090000', rdate: ['2026-01-01'], exdate: [] },
    ],
    ['DTSTART;TZID=europe/berlin:20260101T090000\nRRULE:FREQ=DAILY\n\nEXDATE:20260102T080000Z\n', {}],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', { dtstart: '2025-01-01' }],
    ['FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29', {}],
    [`FREQ=DAILY;BYHOUR=${numbers(24)};BYMINUTE=${numbers(60)};BYSECOND=${numbers(60)}`, {}],
    ['FREQ=DAILY', { startAt: '2026-01-01T00:00', endAt: '2026-01-03T00:00Z' }],
    ['FREQ=YEARLY;COUNT=10000', { dtstart: '2000-01-01' }],
  ])('%j with %j, unchanged', (rrule, more) => {
    const parsed = ruleIn(rrule, more)
    expect(parsed).toEqual({ ok: true, schedule: { type: 'rrule', rrule, timezone: 'Europe/Berlin', ...more } })
  })
})

describe('what is refused, with a pointer', () => {
  test.each<[unknown, RegExp]>([
    ['', /FREQ=DAILY/],
    [' ', /FREQ=DAILY/],
    ['DAILY', /"DAILY" is not a part/],
    ['INTERVAL=2', /FREQ is missing/],
    ['FREQ=', /"FREQ=" is not a part/],
    ['FREQ=FORTNIGHTLY', /FREQ: "FORTNIGHTLY" is none of YEARLY/],
    ['FREQ=DAILY;FREQ=DAILY', /FREQ is there twice/],
    ['FREQ=DAILY;;COUNT=3', /"" is not a part/],
    ['FREQ=DAILY;BYEASTER=1', /BYEASTER is not a part of RFC 5545/],
    ['FREQ=DAILY;RSCALE=HEBREW', /RSCALE: other calendars/],
    ['FREQ=DAILY;INTERVAL=0', /INTERVAL: "0" is not a whole number from 1 to 18250/],
    ['FREQ=YEARLY;INTERVAL=51', /INTERVAL: .* 1 to 50/],
    ['FREQ=DAILY;COUNT=0', /COUNT: "0"/],
    ['FREQ=DAILY;COUNT=10001', /COUNT: .* 1 to 10000/],
    ['FREQ=DAILY;COUNT=1e3', /COUNT: "1E3"/],
    ['FREQ=DAILY;COUNT=3;UNTIL=20300101', /COUNT and UNTIL/],
    ['FREQ=DAILY;UNTIL=20260230', /UNTIL: "20260230"/],
    ['FREQ=DAILY;UNTIL=2026-01-01', /UNTIL: /],
    ['FREQ=DAILY;BYHOUR=24', /BYHOUR: "24"/],
    ['FREQ=DAILY;BYHOUR=-1', /BYHOUR: "-1"/],
    ['FREQ=DAILY;BYSECOND=60', /BYSECOND: "60"/],
    ['FREQ=DAILY;BYMONTH=13', /BYMONTH: "13"/],
    ['FREQ=DAILY;BYMONTH=1,', /BYMONTH: ""/],
    ['FREQ=MONTHLY;BYMONTHDAY=0', /BYMONTHDAY: "0"/],
    ['FREQ=MONTHLY;BYMONTHDAY=-32', /BYMONTHDAY: "32"/],
    ['FREQ=MONTHLY;BYDAY=XX', /BYDAY: "XX" is not a weekday/],
    ['FREQ=MONTHLY;BYDAY=0MO', /BYDAY: "0"/],
    ['FREQ=WEEKLY;BYDAY=2MO', /BYDAY: a place .* only with FREQ=MONTHLY/],
    ['FREQ=WEEKLY;BYMONTHDAY=1', /BYMONTHDAY: not with FREQ=WEEKLY/],
    ['FREQ=MONTHLY;BYWEEKNO=1', /BYWEEKNO: only with FREQ=YEARLY/],
    ['FREQ=DAILY;BYYEARDAY=1', /BYYEARDAY: not with FREQ=DAILY/],
    ['FREQ=YEARLY;BYWEEKNO=1;BYDAY=2MO', /BYWEEKNO/],
    ['FREQ=DAILY;BYSETPOS=1', /BYSETPOS: it chooses/],
    [`FREQ=YEARLY;BYSETPOS=1;BYHOUR=${numbers(24)};BYMINUTE=${numbers(60)}`, /BYSETPOS: .* at most 10000/],
    ['FREQ=DAILY;WKST=8', /WKST: "8"/],
    ['FREQ=DAILY;BYHOUR=٩', /ASCII/],
    [`FREQ=DAILY;BYHOUR=${'0'.repeat(3_000)}`, /at most 3000/],
    ['FREQ=DAILY'.padEnd(1_000_000, ' '), /at most 20000 characters/],
    ['SUMMARY:Nightly', /neither an RRULE nor an RDATE/],
    ['RRULE:FREQ=DAILY\nEXRULE:FREQ=WEEKLY', /EXRULE: .*EXDATE/],
    ['RRULE:FREQ=DAILY\nRRULE FREQ=WEEKLY', /"RRULE FREQ=WEEKLY" is not a line/],
    ['RRULE:FREQ=DAILY\nEXDATE:tomorrow', /EXDATE: not a date/],
    ['DTSTART;TZID=America/New_York:20260101T090000\nRRULE:FREQ=DAILY', /DTSTART: .*America\/New_York.*Europe\/Berlin/],
    [Array.from({ length: 11 }, () => 'FREQ=DAILY').join('\n'), /At most 10 rules/],
    [[], /list of at most 10/],
    [5, /A rule of at most/],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', /never runs/],
    ['FREQ=SECONDLY;BYMONTH=4;BYMONTHDAY=31', /never runs/],
    ['FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1', /never runs/],
    ['FREQ=YEARLY;BYWEEKNO=10;BYMONTH=12', /never runs/],
    ['FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6', /never runs/],
    ['FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=29,30,31;BYSETPOS=2', /never runs/],
    ['FREQ=DAILY;BYHOUR=9;BYSETPOS=2', /never runs/],
    ['FREQ=HOURLY;BYMINUTE=0,30;BYSETPOS=3', /never runs/],
  ])('%.60j', (rrule, detail) => {
    const parsed = ruleIn(rrule)
    expect(problems(parsed)).toEqual([{ pointer: '/rrule', detail: expect.stringMatching(detail) }])
  })

  test.each<[string, object, string, RegExp]>([
    ['FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29', { dtstart: '2025-01-01' }, '/rrule', /never runs/],
    ['FREQ=DAILY;INTERVAL=7;BYDAY=MO', { dtstart: '2026-01-06' }, '/rrule', /never runs/],
    ['FREQ=HOURLY;INTERVAL=24;BYHOUR=9', { dtstart: '2026-01-06T10:00' }, '/rrule', /never runs/],
    ['FREQ=SECONDLY;INTERVAL=2;BYSECOND=1,3,5', { dtstart: '2026-01-06T10:00' }, '/rrule', /never runs/],
    ['FREQ=DAILY;UNTIL=20251231', { dtstart: '2026-01-01' }, '/rrule', /never run/],
    ['FREQ=DAILY;COUNT=1', { dtstart: '2026-01-01', exdate: ['2026-01-01'] }, '/rrule', /never run/],
    ['FREQ=DAILY;COUNT=1', { dtstart: '2026-03-29T02:30', rdate: [] }, '', /^$/],
    ['FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU', { dtstart: '2026-01-01T02:30' }, '/rrule', /never run/],
    ['FREQ=DAILY', { dtstart: '2026-02-30' }, '/dtstart', /ISO 8601/],
    ['FREQ=DAILY', { dtstart: '2026-01-01', rdate: ['2026-01-01', 'x'] }, '/rdate/1', /ISO 8601/],
    ['FREQ=DAILY', { exdate: ['1'.repeat(50)] }, '/exdate/0', /40/],
    ['DTSTART:20260101T090000\nRRULE:FREQ=DAILY', { dtstart: '2026-01-01' }, '/dtstart', /more than once/],
    ['FREQ=DAILY', { startAt: '2026-01-02T00:00Z', endAt: '2026-01-01T00:00Z' }, '/endAt', /before it starts/],
    ['FREQ=DAILY', { dtstart: '2026-01-05T09:00', endAt: '2026-01-05T08:00' }, '/endAt', /within these bounds/],
    [
      'FREQ=DAILY;COUNT=2',
      { dtstart: '2026-01-05T09:00', startAt: '2026-02-01T00:00' },
      '/startAt',
      /within these bounds/,
    ],
    ['FREQ=DAILY', { anchor: '2026-01-05T09:00' }, '/anchor', /Not a field/],
  ])('%s with %j', (rrule, more, pointer, detail) => {
    const parsed = ruleIn(rrule, more)
    const expected = pointer === '' ? [] : [{ pointer, detail: expect.stringMatching(detail) }]
    expect(problems(parsed)).toEqual(expected)
  })

  test('every bad part is told at once, each in its own rule', () => {
    expect(problems(ruleIn(['FREQ=DAILY', 'FREQ=X;BYHOUR=24;FOO=1']))).toEqual([
      { pointer: '/rrule/1', detail: expect.stringContaining('FREQ: ') },
      { pointer: '/rrule/1', detail: expect.stringContaining('BYHOUR: ') },
      { pointer: '/rrule/1', detail: expect.stringContaining('FOO') },
    ])
    expect(
      problems(ruleIn(['FREQ=DAILY', 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30'])).map(({ pointer }) => pointer),
    ).toEqual(['/rrule/1'])
  })
})

test(`mutated rules are refused or fire (5,000 runs, seed ${seed})`, () => {
  const good = [
    'FREQ=DAILY;INTERVAL=2;COUNT=30',
    'FREQ=WEEKLY;BYDAY=MO,WE,FR;WKST=SU;UNTIL=20301231T235959Z',
    'FREQ=MONTHLY;BYDAY=-1FR,2MO;BYHOUR=9,17;BYMINUTE=30',
    'FREQ=MONTHLY;BYMONTHDAY=-1,15,31;BYMONTH=2,4',
    'FREQ=YEARLY;BYWEEKNO=1,20,53;BYDAY=TU',
    'FREQ=YEARLY;BYYEARDAY=1,100,-1;BYSETPOS=-1',
    'FREQ=HOURLY;INTERVAL=5;BYDAY=MO,TU;BYMINUTE=0,30',
    'FREQ=MINUTELY;INTERVAL=7;BYHOUR=9,10',
    'FREQ=SECONDLY;INTERVAL=11;BYMONTH=2;BYMONTHDAY=29',
  ]
  const noise = fc.constantFrom(
    ...'0123456789-+,;=:\n \tZTé٣',
    ...['MO', '53', '-1', '366', '31', '30', 'BYSETPOS=3', ';BYMONTH=2', ';BYHOUR=24', 'YEARLY', 'SECONDLY', '999999'],
  )
  const edit = fc.record({ at: fc.nat(60), drop: fc.nat(4), add: fc.oneof(noise, fc.constant('')) })
  const mutated = fc
    .tuple(fc.constantFrom(...good), fc.array(edit, { minLength: 1, maxLength: 3 }))
    .map(([text, edits]) =>
      edits.reduce((rule, { at, drop, add }) => rule.slice(0, at) + add + rule.slice(at + drop), text),
    )
  const outcomes = { fires: 0, refused: 0 }
  const dtstarts = fc
    .integer({ min: Date.UTC(2026, 0), max: Date.UTC(2029, 0) })
    .map((ms) => new Date(ms).toISOString())
  fc.assert(
    fc.property(mutated, fc.option(dtstarts, { nil: undefined }), (rrule, dtstart) => {
      const parsed = ruleIn(rrule, dtstart === undefined ? {} : { dtstart })
      outcomes[parsed.ok ? 'fires' : 'refused']++
      if (!parsed.ok) {
        expect(parsed.problems.every(({ pointer }) => pointer === '/rrule')).toBe(true)
        return
      }
      const anchored = anchorSchedule(parsed.schedule, Temporal.Instant.from('2026-01-01T00:00:00Z'))
      const fires = nextInstantMs(compileSchedule(anchored), Date.UTC(1970, 0)) !== null
      // Without a start of its own its intervals may miss what it asks for: that shows when the job is made.
      expect(fires || dtstart === undefined).toBe(true)
    }),
    { seed, numRuns: 5_000 },
  )
  expect(Math.min(outcomes.fires, outcomes.refused)).toBeGreaterThan(500)
})
