import { randomUUID } from 'node:crypto'
import type { Stack } from '../stack.ts'
import { sleep, waitFor } from '../wait.ts'
import type { Benchmark, Measure } from './benchmark.ts'
import type { Lab } from './lab.ts'
import { Meridian, runBody } from './meridian.ts'
import { slope } from './statistics.ts'

const perSecond = 5_000
const batch = 500
/** With more runs than this on the way the machine does not keep up: the load waits, and what was done is reported. */
const underwayMax = 20_000
const names = ['executor', 'engine', 'api'] as const
/** Whatever grows until it is full has grown by then. */
const warmUpShare = 1 / 3
/** The growth of a shorter time is that of caches and of the collector's whim, and foretells nothing. */
const slopeSecondsMin = 300

interface Reading {
  atSeconds: number
  /** Megabytes of each process, by its name and by `<name>.heap`. */
  taken: Record<string, number>
}

async function memory(lab: Lab): Promise<Measure[]> {
  const stack = await lab.stack()
  const target = await lab.target()
  const meridian = new Meridian(stack)
  const { seconds } = lab.profile
  try {
    const queue = await meridian.createQueue(`memory-${randomUUID()}`)
    const pids = names.flatMap(stack.pids)
    const countBefore = await target.count()
    const called = async () => (await target.count()) - countBefore
    const cpu = lab.readCpu()
    const [accepted, readings] = await Promise.all([
      keepLoaded(meridian, { seconds, called, make: (index) => runBody(index, target.url, { queue }) }),
      watch(stack, seconds),
    ])
    const done = await called()
    const cpuPerRun = lab.cpuPerRun(cpu, done)
    await waitFor('the last call', async () => (await called()) >= accepted, { timeoutMs: 120_000 })
    if (String(names.flatMap(stack.pids)) !== String(pids)) throw new Error('a process was started anew meanwhile')
    return [
      { value: done / seconds, unit: 'runs/s' },
      ...names.flatMap((name) => describe(name, readings)),
      ...cpuPerRun,
    ]
  } finally {
    await meridian.close()
  }
}

interface Load {
  seconds: number
  called(): Promise<number>
  make(index: number): unknown
}

/** Accepts runs that are due at once by batch, at the pace asked for or as far as they are called. Returns how many. */
async function keepLoaded({ api }: Meridian, { seconds, called, make }: Load): Promise<number> {
  const start = performance.now()
  let accepted = 0
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (;;) {
        const elapsedSeconds = (performance.now() - start) / 1_000
        if (elapsedSeconds >= seconds) return
        const isOwed = accepted + batch <= elapsedSeconds * perSecond
        if (!isOwed || accepted - (await called()) > underwayMax) {
          await sleep(10)
          continue
        }
        const first = accepted
        accepted += batch
        const runs = Array.from({ length: batch }, (_, index) => make(first + index))
        await api.ask('POST', '/v1/runs/batch', { runs })
      }
    }),
  )
  return accepted
}

async function watch(stack: Stack, seconds: number): Promise<Reading[]> {
  const everyMs = Math.min(5_000, Math.max(1_000, seconds * 100))
  const start = performance.now()
  const readings: Reading[] = []
  for (let atMs = 0; atMs <= seconds * 1_000; atMs += everyMs) {
    await sleep(Math.max(0, start + atMs - performance.now()))
    const taken = await Promise.all(names.map((name) => read(stack, name)))
    readings.push({ atSeconds: atMs / 1_000, taken: Object.assign({}, ...taken) })
  }
  return readings
}

async function read(stack: Stack, name: string): Promise<Record<string, number>> {
  const { METRICS_PORT, PORT } = stack.environment(name)
  const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT ?? PORT}/metrics`)).text()
  const megabytes = (metric: string) => Number(new RegExp(`^${metric}\\{.*\\} (\\d+)`, 'm').exec(text)?.[1]) / 1_048_576
  return {
    [name]: megabytes('process_resident_memory_bytes'),
    [`${name}.heap`]: megabytes('nodejs_heap_used_bytes'),
  }
}

function describe(name: string, readings: readonly Reading[]): Measure[] {
  return [name, `${name}.heap`].flatMap((key) => {
    const values = readings.map(({ taken }) => taken[key] ?? Number.NaN)
    const step = Math.max(1, Math.round((values.length - 1) / 10))
    const lastSeconds = readings.at(-1)?.atSeconds ?? 0
    const late = readings.filter(({ atSeconds }) => atSeconds >= lastSeconds * warmUpShare)
    const perSecondGrown = slope(late.map(({ atSeconds, taken }) => [atSeconds, taken[key] ?? Number.NaN]))
    return [
      ...readings
        .filter((_, index) => index % step === 0)
        .map(({ atSeconds, taken }) => ({
          metric: `${key}.at-${Math.round(atSeconds)}s`,
          value: taken[key] ?? Number.NaN,
          unit: 'MB',
        })),
      { metric: `${key}.max`, value: Math.max(...values), unit: 'MB' },
      ...(lastSeconds < slopeSecondsMin
        ? []
        : [{ metric: `${key}.slope`, value: perSecondGrown * 600, unit: 'MB/10 min' }]),
    ]
  })
}

export const memoryUnderLoad: Benchmark = {
  title: 'Memory of the processes at 5,000 runs a second, and how it grows once the first third has passed',
  contenders: [{ name: 'meridian', round: memory }],
  rounds: 1,
}
