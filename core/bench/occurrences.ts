// What the occurrence engine costs, by itself: `node core/bench/occurrences.ts [samples] [seed]` prints one JSON line of
// measures. `./meridian bench occurrences` runs it and holds it against its bars.
import fc from 'fast-check'
import { cronSamples } from '../src/schedule/cron-samples.ts'
import { type ForecastJob, forecast } from '../src/schedule/forecast.ts'
import { type FullSchedule, parseFullSchedule } from '../src/schedule/full-schedule.ts'
import { compileSchedule, nextInstantMs } from '../src/schedule/occurrences.ts'
import { ruleSamples } from '../src/schedule/rrule-samples.ts'
import { foldRules, gapRules } from '../src/schedule/zone.ts'
import { hostileSchedules } from './hostile-schedules.ts'

const samples = Number(process.argv[2] ?? 1_000)
const seed = Number(process.argv[3] ?? 20_261_129)
const instants = 10
const dayMs = 86_400_000

/** A zone and an instant within a day of a change of its clocks. */
const nearChanges = fc
  .record({
    timezone: fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
    fromMs: fc.integer({ min: Date.UTC(1995, 0, 1), max: Date.UTC(2060, 0, 1) }),
    awayMs: fc.integer({ min: -dayMs, max: dayMs }),
  })
  .map(({ timezone, fromMs, awayMs }) => {
    const from = Temporal.Instant.fromEpochMilliseconds(fromMs)
    const change = from.toZonedDateTimeISO(timezone).getTimeZoneTransition('next')?.toInstant() ?? from
    return { timezone, afterMs: change.epochMilliseconds + awayMs }
  })
const clockRules = fc.record({ gap: fc.constantFrom(...gapRules), fold: fc.constantFrom(...foldRules) })

function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN
}

/** How long the next instant takes to find, in milliseconds, again and again from schedule to schedule. */
function timeNext(drafts: readonly { schedule: unknown; afterMs: number }[]): number[] {
  const tookMs: number[] = []
  for (const { schedule, afterMs } of drafts) {
    const parsed = parseFullSchedule(schedule)
    if (!parsed.ok) continue
    const compiled = compileSchedule(parsed.schedule)
    let at: number | null = afterMs
    for (let count = 0; count < instants && at !== null; count++) {
      const started = performance.now()
      at = nextInstantMs(compiled, at)
      tookMs.push(performance.now() - started)
    }
  }
  return tookMs
}

const crons = fc
  .sample(fc.tuple(cronSamples, nearChanges, clockRules), { seed, numRuns: samples })
  .map(([{ text }, { timezone, afterMs }, rule]) => ({
    schedule: { type: 'cron', cron: text, timezone, ...rule },
    afterMs,
  }))
const rules = fc
  .sample(fc.tuple(ruleSamples, nearChanges, clockRules, fc.integer({ min: 0, max: 1_000 })), {
    seed,
    numRuns: samples,
  })
  .map(([{ text }, { timezone, afterMs }, rule, ageDays]) => {
    const dtstart = new Date(afterMs - ageDays * dayMs).toISOString().slice(0, 19)
    return { schedule: { type: 'rrule', rrule: text, dtstart, timezone, ...rule }, afterMs }
  })

/** The CPU that a parse takes when nothing else has the processor: the least of five, in milliseconds. */
function timeParse(input: unknown): number {
  let leastMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    const started = process.threadCpuUsage().user
    parseFullSchedule(input)
    leastMs = Math.min(leastMs, (process.threadCpuUsage().user - started) / 1_000)
  }
  return leastMs
}

/** 100,000 jobs with 2,000 distinct rules, over a day, minute by minute, in seconds of CPU. */
function timeForecast(): number {
  const zones = ['UTC', 'Europe/London', 'America/New_York', 'Asia/Kolkata', 'Australia/Sydney']
  const forms = [
    (n: number) => `${n % 60} * * * *`,
    (n: number) => `${n % 60}-59/${2 + (n % 9)} * * * *`,
    (n: number) => `${n % 60} ${n % 24} * * *`,
    (n: number) => `${n % 60} ${n % 24} * * ${n % 7}`,
  ]
  const fromMs = Date.UTC(2026, 2, 28)
  const jobs = Array.from({ length: 100_000 }, (_, index): ForecastJob => {
    const rule = index % 2_000
    const schedule: FullSchedule = {
      type: 'cron',
      cron: forms[rule % 4]?.(Math.floor(rule / 4)) ?? '',
      timezone: zones[rule % 5] ?? 'UTC',
      // Makes the rules distinct whatever their texts.
      startAt: new Date(Date.UTC(2020, 0, 1, 0, 0, rule)).toISOString(),
    }
    const keys = [`pool:${index % 3}`, `queue:${index % 50}`, `host:${index % 1_000}`]
    return { schedule, seed: `job_${index}`, keys, durationMs: index % 60_000 }
  })
  const started = process.cpuUsage()
  const { failures } = forecast(jobs, { fromMs, untilMs: fromMs + dayMs, bucketMs: 60_000 })
  const { user, system } = process.cpuUsage(started)
  if (failures.length > 0) throw new Error('not every schedule was counted')
  return (user + system) / 1e6
}

// Once unmeasured: what is measured is code that has been compiled.
timeNext([...crons.slice(0, 200), ...rules.slice(0, 200)])
const cronMs = timeNext(crons)
const rruleMs = timeNext(rules)
const measures = [
  { metric: 'cron.p50', value: percentile(cronMs, 50) * 1_000, unit: 'us' },
  { metric: 'cron.p99', value: percentile(cronMs, 99), unit: 'ms' },
  { metric: 'rrule.p50', value: percentile(rruleMs, 50) * 1_000, unit: 'us' },
  { metric: 'rrule.p99', value: percentile(rruleMs, 99), unit: 'ms' },
  { metric: 'hostile.max', value: Math.max(...hostileSchedules.map(timeParse)), unit: 'ms' },
  { metric: 'forecast', value: timeForecast(), unit: 's' },
]
process.stdout.write(`${JSON.stringify(measures)}\n`)
