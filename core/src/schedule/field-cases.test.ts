import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fieldCases } from './field-cases.ts'
import { compileSchedule, nextInstantMs, nextOccurrences, occurrencesBetween } from './occurrences.ts'
import { parseSchedule } from './schedule.ts'

const instant = (text: string) => Temporal.Instant.from(text)

/** Answers every case in a process of its own, so that its time zone is really another one. */
function answersUnder(tz: string): { offsetMinutes: number; answers: string[][] } {
  const program = `
    const { fieldCases } = await import('${import.meta.resolve('./field-cases.ts')}')
    const { nextOccurrences } = await import('${import.meta.resolve('./occurrences.ts')}')
    const answers = fieldCases.map(({ schedule, after, expected }) =>
      nextOccurrences(schedule, Temporal.Instant.from(after), schedule.type === 'rrule' ? 100 : expected.length)
        .map((occurrence) => occurrence.nominalAt.toString()))
    console.log(JSON.stringify({ offsetMinutes: new Date(2026, 6, 1).getTimezoneOffset(), answers }))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, TZ: tz },
    encoding: 'utf8',
  })
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout)
}

describe.each([
  ['UTC', 0],
  ['Australia/Sydney', -600],
  ['America/New_York', 240],
  ['Europe/Chisinau', -180],
])('with the process in %s', (tz, offsetMinutes) => {
  const under = answersUnder(tz)

  test('the process really is in that zone', () => {
    expect(under.offsetMinutes).toBe(offsetMinutes)
  })

  test.each(
    fieldCases.map((fieldCase, index) => ({ ...fieldCase, index, asked: Object.values(fieldCase.schedule).join(' ') })),
  )('$id $source: $asked ($why)', ({ expected, index }) => {
    expect(under.answers[index]).toEqual(expected)
  })
})

test('every case is a schedule that is accepted', () => {
  for (const { schedule } of fieldCases) expect(parseSchedule(schedule)).toMatchObject({ ok: true })
})

describe.each([
  ['UTC', 0],
  ['Australia/Sydney', -600],
  ['America/New_York', 240],
])('cases in other words, with the process in %s', (tz, offsetMinutes) => {
  const own = process.env['TZ']
  beforeAll(() => {
    process.env['TZ'] = tz
  })
  afterAll(() => {
    if (own === undefined) delete process.env['TZ']
    else process.env['TZ'] = own
  })

  test('the process really is in that zone', () => {
    expect(new Date(2026, 6, 1).getTimezoneOffset()).toBe(offsetMinutes)
  })

  test('O-04: every minute is 120 runs, all 60 s apart, through the repeated hour', () => {
    const compiled = compileSchedule({ type: 'cron', cron: '* * * * *', timezone: 'America/Los_Angeles' })
    const [from, until] = [
      instant('2025-11-02T08:00:00Z').epochMilliseconds,
      instant('2025-11-02T10:00:00Z').epochMilliseconds,
    ]
    const fires: number[] = []
    for (let at = nextInstantMs(compiled, from - 1); at !== null && at < until; at = nextInstantMs(compiled, at))
      fires.push(at)
    expect(fires).toEqual(Array.from({ length: 120 }, (_, index) => from + index * 60_000))
  })

  test('O-18: a bare step is refused, never hourly', () => {
    expect(parseSchedule({ type: 'cron', cron: '5/15 * * * *', timezone: 'UTC' })).toEqual({
      ok: false,
      problems: [{ pointer: '/cron', detail: 'minute: "5/15" has a step without a range: write 5-59/15 or */15' }],
    })
  })

  test.each(['0 0 30 2 *', '0 0 31 2,4,6,9,11 *'])('O-19: the impossible date %s is refused', (cron) => {
    const parsed = parseSchedule({ type: 'cron', cron, timezone: 'UTC' })
    expect(parsed).toMatchObject({
      ok: false,
      problems: [{ pointer: '/cron', detail: expect.stringMatching(/^day-of-month: no month/) }],
    })
  })

  test('O-20: a one-shot 30 days ahead and a monthly job do not fire in their first minute', () => {
    const created = instant('2026-01-02T12:00:00Z')
    const soon = created.add({ seconds: 60 })
    const due = created.add({ hours: 24 * 30 })
    const oneShot = { type: 'at', at: due.toString() } as const
    const monthly = { type: 'cron', cron: '0 4 1 * *', timezone: 'UTC' } as const
    for (const schedule of [oneShot, monthly]) expect([...occurrencesBetween(schedule, created, soon, 10)]).toEqual([])
    expect(nextOccurrences(oneShot, created, 5).map(({ nominalAt }) => nominalAt.equals(due))).toEqual([true])
    expect(nextOccurrences(monthly, created, 1)[0]?.nominalAt.toString()).toBe('2026-02-01T04:00:00Z')
  })

  test('O-30: a time zone inside the schedule of a Kubernetes manifest is refused with advice', () => {
    for (const prefix of ['TZ=', 'CRON_TZ='])
      expect(
        parseSchedule({ type: 'cron', cron: `${prefix}UTC * * * * *`, timezone: 'UTC', dialect: 'kubernetes' }),
      ).toEqual({ ok: false, problems: [{ pointer: '/cron', detail: expect.stringContaining('`timeZone`') }] })
  })

  test('O-31: the AWS form needs a ? in one of the day fields', () => {
    expect(
      parseSchedule({ type: 'cron', cron: 'cron(34 12 * * SAT *)', timezone: 'UTC', dialect: 'eventbridge' }),
    ).toEqual({ ok: false, problems: [{ pointer: '/cron', detail: expect.stringContaining('"?"') }] })
  })

  test.each([
    ['xyz', 'A cron expression has 5 fields'],
    ['60 0 * * *', 'minute:'],
    ['0 60 * * *', 'hour:'],
    ['0 0 * * XYZ', 'day-of-week:'],
  ])('O-28: %s is refused and the message names what is wrong', (cron, beginning) => {
    const parsed = parseSchedule({ type: 'cron', cron, timezone: 'UTC' })
    expect(parsed).toMatchObject({ ok: false, problems: [{ pointer: '/cron' }] })
    expect(parsed.ok ? '' : parsed.problems[0]?.detail).toContain(beginning)
  })
})
