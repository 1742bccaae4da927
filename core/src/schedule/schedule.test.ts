import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileSchedule, nextInstantMs } from './occurrences.ts'
import { type ParsedSchedule, parseSchedule } from './schedule.ts'

const seed = Number(process.env.PROPERTY_SEED ?? 20_261_129)

const cronIn = (cron: string, more: object = {}) =>
  parseSchedule({ type: 'cron', cron, timezone: 'Europe/Berlin', ...more })
const problems = (parsed: ParsedSchedule) => (parsed.ok ? [] : parsed.problems)

describe('what is accepted', () => {
  test.each([
    { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' },
    { type: 'cron', cron: '  25\t6 * * *  ', timezone: 'europe/london', dialect: 'vixie', gap: 'shift', fold: 'both' },
    { type: 'cron', cron: '@daily', timezone: 'Etc/GMT+5' },
    { type: 'cron', cron: '*/10 0 22-2 ? JAN,jun-AUG mon-FRI', timezone: 'UTC' },
    { type: 'cron', cron: '0 0 L,15W,1-7/2 * 5#2,SUNL,2-3#1', timezone: 'UTC' },
    { type: 'cron', cron: '0 0 L-3,1 * *', timezone: 'UTC' },
    { type: 'every', every: 'PT15M' },
    { type: 'every', every: 'PT1H30M0.5S', anchor: '2026-01-01T00:00:00+01:00', timezone: 'Asia/Kolkata' },
    { type: 'every', every: 'P1D', gap: 'skip', fold: 'both', timezone: 'Europe/London' },
    { type: 'every', every: 'P1Y2M3W4D' },
    { type: 'at', at: '2026-07-01T09:00:00.250Z' },
    { type: 'at', at: '2026-07-01T09:00', timezone: 'Europe/London' },
  ])('%j, unchanged', (input) => {
    expect(parseSchedule(input)).toEqual({ ok: true, schedule: input })
  })
})

describe('what is refused, with a pointer', () => {
  test.each<[string, unknown, string, RegExp]>([
    ['no object', 5, '', /object/],
    ['no type', { cron: '* * * * *' }, '/type', /cron.*every.*at/],
    ['an unknown type', { type: 'sometimes' }, '/type', /cron.*every.*rrule.*at/],
    ['no time zone', { type: 'cron', cron: '* * * * *' }, '/timezone', /string/],
    ['an empty time zone', { type: 'cron', cron: '* * * * *', timezone: '' }, '/timezone', /Europe\/London/],
    ['an unknown time zone', { type: 'cron', cron: '* * * * *', timezone: 'Mars/Phobos' }, '/timezone', /IANA/],
    ['an offset for a zone', { type: 'cron', cron: '* * * * *', timezone: '+01:00' }, '/timezone', /IANA/],
    ['a date for a zone', { type: 'at', at: '2026-07-01T09:00Z', timezone: '2026-07-01T09:00Z' }, '/timezone', /IANA/],
    ['a zone of 1 MB', { type: 'every', every: 'PT1M', timezone: 'A'.repeat(1_000_000) }, '/timezone', /IANA/],
    [
      'an unknown dialect',
      { type: 'cron', cron: 'x', timezone: 'UTC', dialect: 'jenkins' },
      '/dialect',
      /vixie.*quartz/,
    ],
    [
      'an unknown gap rule',
      { type: 'cron', cron: '0 2 * * *', timezone: 'UTC', gap: 'last' },
      '/gap',
      /next.*skip.*shift/,
    ],
    ['an unknown key', { type: 'cron', cron: '0 2 * * *', timezone: 'UTC', 'a/b~': 1 }, '/a~1b~0', /Not a field/],
    ['a key of another type', { type: 'at', at: '2026-07-01T09:00Z', cron: '* * * * *' }, '/cron', /Not a field/],
    ['a mixed interval', { type: 'every', every: 'P1DT1H' }, '/every', /cannot be mixed/],
    ['no calendar interval', { type: 'every', every: 'P0D' }, '/every', /P1D/],
    ['too long a calendar interval', { type: 'every', every: 'P121M' }, '/every', /10 years/],
    ['an unordered calendar interval', { type: 'every', every: 'P1D1M' }, '/every', /ISO 8601/],
    ['a gap rule for exact time', { type: 'every', every: 'PT24H', gap: 'skip' }, '/gap', /P1D/],
    ['no duration', { type: 'every', every: '15 minutes' }, '/every', /ISO 8601/],
    ['an empty duration', { type: 'every', every: 'PT' }, '/every', /ISO 8601/],
    ['a negative interval', { type: 'every', every: '-PT1M' }, '/every', /ISO 8601/],
    ['no interval', { type: 'every', every: 'PT0S' }, '/every', /PT1S/],
    ['too short an interval', { type: 'every', every: 'PT0.999S' }, '/every', /PT1S/],
    ['too long an interval', { type: 'every', every: 'PT999999999H' }, '/every', /10 years/],
    ['a duration of 1 MB', { type: 'every', every: `PT${'1'.repeat(1_000_000)}S` }, '/every', /ISO 8601/],
    [
      'a wall-clock anchor without zone',
      { type: 'every', every: 'PT1H', anchor: '2026-07-01T09:00' },
      '/timezone',
      /anchor/,
    ],
    ['a wall-clock time without zone', { type: 'at', at: '2026-07-01T09:00' }, '/timezone', /`at`/],
    ['a date that does not exist', { type: 'at', at: '2026-02-30T09:00Z' }, '/at', /ISO 8601/],
    ['a leap second', { type: 'at', at: '2016-12-31T23:59:60Z' }, '/at', /ISO 8601/],
    ['a time of 1 MB', { type: 'at', at: '2026-07-01T09:00Z'.padEnd(1_000_000, ' ') }, '/at', /ISO 8601/],
  ])('%s', (_, input, pointer, detail) => {
    const parsed = parseSchedule(input)
    expect(problems(parsed)).toEqual([{ pointer, detail: expect.stringMatching(detail) }])
  })

  test.each<[string, RegExp]>([
    ['', /empty/],
    [' \t ', /empty/],
    ['* * * *', /5 fields.*this has 4/],
    ['0 0 0 1 1 * 2030', /5 fields.*this has 7/],
    ['* * * * *\n', /one line/],
    ['* *\n* * *', /one line/],
    ['٥ * * * *', /ASCII/],
    ['\uff15 * * * *', /ASCII/],
    ['*\u00a0* * * *', /ASCII/],
    ['9'.repeat(1_000_000), /at most 600/],
    ['0,'.repeat(290).concat(' * * * *'), /minute: an entry of the list is empty/],
    ['*/0 * * * *', /minute: the step "\/0"/],
    ['*/61 * * * *', /minute: the step "\/61"/],
    ['*/x * * * *', /minute: the step "\/x"/i],
    ['*/5/5 * * * *', /minute: .*more than one step/],
    ['5/15 * * * *', /minute: .*5-59\/15/],
    ['60 * * * *', /minute: "60" is outside 0-59/],
    ['-1 * * * *', /minute: "" is not a number/],
    ['1-2-3 * * * *', /minute: .*not a range/],
    ['1.5 * * * *', /minute: "1.5" is not a number/],
    ['? * * * *', /minute: /],
    ['L * * * *', /minute: /],
    ['60 0 * * * *', /second: "60"/],
    ['0 24 * * *', /hour: "24" is outside 0-23/],
    ['0 0 0 * *', /day-of-month: "0" is outside 1-31/],
    ['0 0 32W * *', /day-of-month: "32"/],
    ['0 0 L-31 * *', /day-of-month: "L-31" is outside L-1 to L-30/],
    ['0 0 L-30 2 *', /day-of-month: no month of "2" has a day "L-30"/],
    ['0 0 1,L-3W * *', /day-of-month: "LW" cannot be in a list/],
    ['0 0 1,LW * *', /day-of-month: "LW" cannot be in a list/],
    ['0 0 * 13 *', /month: "13" is outside 1-12/],
    ['0 0 * JANUARY *', /month: "JANUARY" is not a name such as FEB/],
    ['0 0 * * 8', /day-of-week: "8" is outside 0-7/],
    ['0 0 * * 1#6', /day-of-week: "1#6"/],
    ['0 0 * * L', /day-of-week: "L"/],
    ['0 0 * * 1#', /day-of-week: /],
    ['H * * * *', /minute: "H"/],
    ['@reboot', /nickname.*@daily/],
    ['@every 5m', /`every`/],
    ['CRON_TZ=UTC * * * * *', /`timezone`/],
    ['2026-07-01T09:00:00Z', /`at`/],
    ['0 0 30 2 *', /day-of-month: no month of "2" has a day "30"/],
    ['0 0 31W 4,6 *', /day-of-month: no month/],
    ['0 0 */29 2 1#2', /day-of-month: no day .* is also a day-of-week "1#2"/],
  ])('cron %j', (cron, detail) => {
    const parsed = parseSchedule({ type: 'cron', cron, timezone: 'UTC' })
    expect(problems(parsed)).toEqual([{ pointer: '/cron', detail: expect.stringMatching(detail) }])
  })

  test('every bad field is told at once', () => {
    expect(
      problems(cronIn('60 24 0 13 8', { timezone: 'x', other: 1 })).map(({ pointer, detail }) => [
        pointer,
        detail.split(':')[0],
      ]),
    ).toEqual([
      ['/timezone', expect.stringContaining('Not a time zone')],
      ['/other', 'Not a field of this type of schedule'],
      ['/cron', 'minute'],
      ['/cron', 'hour'],
      ['/cron', 'day-of-month'],
      ['/cron', 'month'],
      ['/cron', 'day-of-week'],
    ])
  })

  test.each([
    ['30 2 * 3 7L', { gap: 'skip' }],
    ['*/5 2 * 3 7L', {}],
  ])('%s, which falls into a gap each time, with %j', (cron, more) => {
    const parsed = parseSchedule({ type: 'cron', cron, timezone: 'Europe/Berlin', ...more })
    expect(problems(parsed)).toEqual([{ pointer: '/cron', detail: expect.stringContaining('would never run') }])
    expect(cronIn(cron.replace('*/5', '30'), { gap: 'next' }).ok).toBe(true)
  })
})

test(`mutated expressions are refused by name or fire, each in under 10 ms (5,000 runs, seed ${seed})`, () => {
  const good = [
    '25 6 * * *',
    '*/15 9-17 * * 1-5',
    '0 0 1,15 * *',
    '0 0 L * *',
    '0 5 LW * *',
    '0 0 15W 3,6 *',
    '0 0 * * fri#5',
  ]
  const better = [
    '0 0 29 2 *',
    '10 0 22-2 * JAN-MAR SUN',
    '@daily',
    '0 30 0 * * SAT,SUN',
    '0 0 31 1-12/2 5L',
    '0 12 */2 * 1',
  ]
  const noise = fc.constantFrom(
    ...'0123456789*/,-#LW?@ \t\nHJxé٣+.:',
    '60',
    '*/0',
    '1#6',
    '5/15',
    'MON',
    'JAN',
    '30 2',
    '999999',
  )
  const edit = fc.record({ at: fc.nat(24), drop: fc.nat(3), add: fc.oneof(noise, fc.constant('')) })
  const mutated = fc
    .tuple(fc.constantFrom(...good, ...better), fc.array(edit, { minLength: 1, maxLength: 3 }))
    .map(([cron, edits]) =>
      edits.reduce((text, { at, drop, add }) => text.slice(0, at) + add + text.slice(at + drop), cron),
    )
  const named = /^(second|minute|hour|day-of-month|month|day-of-week): |expression|nickname|Clock changes/
  const outcomes = { fires: 0, refused: 0 }
  fc.assert(
    fc.property(mutated, fc.constantFrom('next', 'skip', 'shift'), (cron, gap) => {
      const parsed = parseSchedule({ type: 'cron', cron, timezone: 'America/New_York', gap })
      const fires = parsed.ok && nextInstantMs(compileSchedule(parsed.schedule), Date.UTC(2026, 0, 1)) !== null
      const refused = problems(parsed).some(({ pointer, detail }) => pointer === '/cron' && named.test(detail))
      expect(fires).toBe(!refused)
      outcomes[fires ? 'fires' : 'refused']++
    }),
    { seed, numRuns: 5_000 },
  )
  expect(Math.min(outcomes.fires, outcomes.refused)).toBeGreaterThan(500)
})
