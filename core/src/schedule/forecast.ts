import { runThrough } from '../kernel/steps.ts'
import { type ExpandOptions, expandSchedules, type Failure, type JobTiming } from './expand.ts'

/** One job whose runs are forecast. */
export interface ForecastJob extends JobTiming {
  /** What its runs count for beside the total, such as `pool:standard`, `queue:mail`, `host:example.com`. */
  readonly keys?: readonly string[]
  /** How long one of its runs takes, as measured. */
  readonly durationMs?: number
}

/** Starts and work in consecutive buckets of time. */
export interface ForecastSeries {
  /** Runs that start in each bucket. */
  readonly starts: Float64Array
  /** Runs that are going on, on average over each bucket, of those that start within the forecast. */
  readonly running: Float64Array
}

export interface Forecast {
  readonly fromMs: number
  readonly bucketMs: number
  readonly total: ForecastSeries
  readonly byKey: ReadonlyMap<string, ForecastSeries>
  /** Jobs that could not be computed, by their place in the list. */
  readonly failures: readonly Failure[]
}

const bucketsMax = 50_000

export interface ForecastOptions extends ExpandOptions {
  readonly bucketMs: number
  /** Where the first bucket begins (default: `fromMs`, before which nothing is counted). */
  readonly bucketsFromMs?: number
}

/** What starts and runs in each bucket of [from, until), by job keys. Exact, since schedules are known. */
export const forecast = (jobs: readonly ForecastJob[], options: ForecastOptions): Forecast =>
  runThrough(forecastSteps(jobs, options))

/** The same in steps, for whoever has something else to do between them. */
export function* forecastSteps(
  jobs: readonly ForecastJob[],
  options: ForecastOptions,
): Generator<undefined, Forecast, undefined> {
  const { untilMs, bucketMs, bucketsFromMs: fromMs = options.fromMs } = options
  const size = Math.ceil((untilMs - fromMs) / bucketMs)
  if (!(size > 0 && size <= bucketsMax)) throw new RangeError(`A forecast has from 1 to ${bucketsMax} buckets`)
  const counters = new Map<string, Counter>()
  const total = new Counter(size, bucketMs)
  const counterOf = (key: string): Counter => {
    const counter = counters.get(key) ?? new Counter(size, bucketMs)
    counters.set(key, counter)
    return counter
  }
  const failures: Failure[] = []
  for (const result of expandSchedules(jobs, options)) {
    yield
    if (result === undefined) continue
    if ('failure' in result) {
      failures.push(result.failure)
      continue
    }
    const offsets = result.starts.atMs.map((at) => at - fromMs)
    for (const [counter, durations] of countersOf(jobs, result.starts.jobs, { total, counterOf }))
      for (const [durationMs, count] of durations) counter.add(offsets, count, durationMs)
  }
  return {
    fromMs,
    bucketMs,
    total: total.series(),
    byKey: new Map([...counters].map(([key, counter]) => [key, counter.series()])),
    failures,
  }
}

/** The counters that some jobs with equal starts count for, and how many of them by how long they run. */
function countersOf(
  jobs: readonly ForecastJob[],
  indexes: readonly number[],
  { total, counterOf }: { total: Counter; counterOf: (key: string) => Counter },
): Map<Counter, Map<number, number>> {
  const found = new Map<Counter, Map<number, number>>()
  for (const index of indexes) {
    const { keys = [], durationMs = 0 } = jobs[index] ?? {}
    for (const counter of [total, ...new Set(keys)].map((one) => (typeof one === 'string' ? counterOf(one) : one))) {
      const durations = found.get(counter) ?? new Map<number, number>()
      durations.set(durationMs, (durations.get(durationMs) ?? 0) + 1)
      found.set(counter, durations)
    }
  }
  return found
}

class Counter {
  readonly #bucketMs: number
  readonly #starts: Float64Array
  /** What is running in a bucket for part of it only. */
  readonly #partly: Float64Array
  /** Changes of the number that is running for whole buckets. */
  readonly #changes: Float64Array

  constructor(size: number, bucketMs: number) {
    this.#bucketMs = bucketMs
    this.#starts = new Float64Array(size)
    this.#partly = new Float64Array(size)
    this.#changes = new Float64Array(size + 1)
  }

  /** `count` runs of a length at each of the offsets from the start of the first bucket. */
  add(offsets: readonly number[], count: number, durationMs: number): void {
    const size = this.#starts.length
    for (const offset of offsets) {
      const first = Math.floor(offset / this.#bucketMs)
      this.#starts[first] = (this.#starts[first] ?? 0) + count
      if (durationMs === 0) continue
      const [from, until] = [offset / this.#bucketMs, (offset + durationMs) / this.#bucketMs]
      const last = Math.floor(until)
      if (last === first) this.#addPartly(first, count * (until - from))
      else {
        this.#addPartly(first, count * (first + 1 - from))
        this.#changes[first + 1] = (this.#changes[first + 1] ?? 0) + count
        if (last > size) continue
        this.#changes[last] = (this.#changes[last] ?? 0) - count
        if (last < size) this.#addPartly(last, count * (until - last))
      }
    }
  }

  #addPartly(bucket: number, amount: number): void {
    this.#partly[bucket] = (this.#partly[bucket] ?? 0) + amount
  }

  series(): ForecastSeries {
    let whole = 0
    const running = this.#partly.map((amount, bucket) => {
      whole += this.#changes[bucket] ?? 0
      return amount + whole
    })
    return { starts: this.#starts, running }
  }
}
