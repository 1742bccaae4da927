import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bruteForce, type CronSample } from './brute-force.ts'
import { cronSamples, dialectSamples } from './cron-samples.ts'
import { compileSchedule, nextInstantMs, nextOccurrences, occurrencesBetween } from './occurrences.ts'
import { parseSchedule, type Schedule } from './schedule.ts'
import { type ClockRule, foldRules, gapRules, nativeZones } from './zone.ts'

const seed = Number(process.env.PROPERTY_SEED ?? 20_261_129)
const numRuns = Number(process.env.PROPERTY_RUNS ?? 2_000)
const runs = `(${numRuns} runs, seed ${seed})`

const zoneIds = Intl.supportedValuesOf('timeZone')
const dayMs = 86_400_000

/** A zone and an instant within 40 days of a change of its clocks; half of them within a day. */
const nearTransition = fc
  .record({
    timezone: fc.constantFrom(...zoneIds),
    fromMs: fc.integer({ min: Date.UTC(1995, 0, 1), max: Date.UTC(2060, 0, 1) }),
    awayMs: fc.oneof(fc.integer({ min: -dayMs, max: dayMs }), fc.integer({ min: -40 * dayMs, max: 40 * dayMs })),
  })
  .map(({ timezone, fromMs, awayMs }) => {
    const from = Temporal.Instant.fromEpochMilliseconds(fromMs)
    const transition = from.toZonedDateTimeISO(timezone).getTimeZoneTransition('next')?.toInstant() ?? from
    return { timezone, after: transition.add({ milliseconds: awayMs }) }
  })

const clockRules: fc.Arbitrary<ClockRule> = fc.record({
  gap: fc.constantFrom(...gapRules),
  fold: fc.constantFrom(...foldRules),
})

function toSchedule(sample: CronSample, timezone: string, rule: ClockRule): Schedule | undefined {
  const dialect = sample.dialect === 'vixie' ? {} : { dialect: sample.dialect }
  const parsed = parseSchedule({ type: 'cron', cron: sample.text, timezone, ...dialect, ...rule })
  if (parsed.ok) return parsed.schedule
  const [problem] = parsed.problems
  if (problem?.detail.startsWith('Clock changes')) return undefined
  expect(problem).toEqual({ pointer: '/cron', detail: expect.stringMatching(/^day-of-month: no /) })
  expect(hasDate(sample)).toBe(false)
  return undefined
}

function hasDate(sample: CronSample): boolean {
  for (let date = Temporal.PlainDate.from('2000-01-01'); date.year < 2028; date = date.add({ days: 1 }))
    if (sample.months.has(date.month) && sample.matchesDay(date)) return true
  return false
}

function check(
  property: (sample: CronSample, timezone: string, after: Temporal.Instant, rule: ClockRule) => void,
  samples = cronSamples,
): void {
  fc.assert(
    fc.property(samples, nearTransition, clockRules, (sample, { timezone, after }, rule) =>
      property(sample, timezone, after, rule),
    ),
    { seed, numRuns },
  )
}

describe('random expressions in random zones near clock changes', () => {
  test.each([
    ['vixie', cronSamples],
    ['quartz and kubernetes', dialectSamples],
  ])(`the engine finds what brute force over the wall clock finds: %s ${runs}`, (_, samples) => {
    let compared = 0
    check((sample, timezone, after, rule) => {
      const schedule = toSchedule(sample, timezone, rule)
      if (!schedule) return
      const until = after.add({ hours: 24 * 41 })
      const found = [...occurrencesBetween(schedule, after, until, 30)].map(({ nominalAt }) => nominalAt.toString())
      expect(found).toEqual(bruteForce(sample, timezone, rule, { after, until, count: 30 }))
      compared += found.length
    }, samples)
    expect(compared).toBeGreaterThan(numRuns)
  })

  test(`occurrences come after the reference, strictly increasing, and each is the next of the instant before it ${runs}`, () => {
    check((sample, timezone, after, rule) => {
      const schedule = toSchedule(sample, timezone, rule)
      if (!schedule) return
      const compiled = compileSchedule(schedule)
      const asked = [after.epochMilliseconds]
      for (let at = nextInstantMs(compiled, after.epochMilliseconds); at !== null; at = nextInstantMs(compiled, at)) {
        asked.push(at)
        if (asked.length > 20) break
      }
      expect(asked).toEqual([...new Set(asked)].sort((a, b) => a - b))
      // Asked backwards, another compilation remembers nothing that helps.
      const again = compileSchedule(schedule)
      const answers = asked
        .slice(1)
        .reverse()
        .map((at) => nextInstantMs(again, at - 1))
      expect(answers.reverse()).toEqual(asked.slice(1))
    })
  })

  test(`a fixed-time job runs once per local time, and only notes explain a local time it did not ask for ${runs}`, () => {
    check((sample, timezone, after, rule) => {
      const schedule = toSchedule(sample, timezone, rule)
      if (!schedule) return
      const occurrences = nextOccurrences(schedule, after, 20)
      const locals = occurrences.map(({ local }) => local)
      const mayRepeat = sample.followsRealTime || rule.fold === 'both'
      expect(mayRepeat || new Set(locals).size === locals.length).toBe(true)
      for (const { local, notes } of occurrences) {
        const wall = Temporal.PlainDateTime.from(local)
        const asked =
          sample.seconds.includes(wall.second) &&
          sample.minutes.has(wall.minute) &&
          sample.hours.has(wall.hour) &&
          sample.months.has(wall.month) &&
          sample.matchesDay(wall.toPlainDate())
        expect(asked || (rule.gap !== 'skip' && notes.some((note) => note.startsWith('gap: ')))).toBe(true)
      }
    })
  })
})

test(`zones have the offsets that Intl has ${runs}`, () => {
  const names = new Map(
    zoneIds.map((timeZone) => [timeZone, new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })]),
  )
  const instants = fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(2100, 0, 1) })
  fc.assert(
    fc.property(fc.constantFrom(...zoneIds), instants, (id, at) => {
      const span = nativeZones.find(id)?.spanAt(at)
      const name = names
        .get(id)
        ?.formatToParts(at)
        .find(({ type }) => type === 'timeZoneName')?.value
      const [, sign = '+', hours = '0', minutes = '0', seconds = '0'] =
        /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?/.exec(name ?? '') ?? []
      const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * (sign === '-' ? -1000 : 1000)
      expect(span?.offset).toBe(offset === 0 ? 0 : offset)
      expect(span && span.from <= at && at < span.until).toBe(true)
    }),
    { seed, numRuns },
  )
})
