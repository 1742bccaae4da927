import { readdirSync, readFileSync } from 'node:fs'
import { median } from '../bench/statistics.ts'
import { sleep } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle, untilStill } from './evidence.ts'
import { startLoad } from './load.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

const processes = ['api', 'engine', 'executor', 'watchdog'] as const
const soakMs = 30 * 60_000
const sampleMs = 5_000
/** Growth that a collector of garbage or a vacuum may leave behind, in shares and at least in units. */
const slack = { share: 0.03, megabytes: 12, sockets: 32 }

/** What must not grow, by name. */
type Sample = Map<string, number>

export const row: Row = {
  title: 'a load that never ends takes no more memory and no more sockets than it took at first',
  run: (world) => (world.profile.name === 'ci' ? twoBursts(world) : soak(world)),
}

/** The second of two equal loads leaves no more sockets open than the first. */
async function twoBursts(world: World): Promise<void> {
  const left: Sample[] = []
  for (let burst = 0; burst < 2; burst += 1) {
    const load = await startLoad(world)
    await sleep(3_000)
    await load.stop()
    assertSound(await settle(world, load, 30_000))
    left.push(sockets(world))
  }
  const [first = new Map(), second = new Map()] = left
  for (const [name, count] of second)
    ensure(count <= (first.get(name) ?? 0) + slack.sockets, `${name} went from ${first.get(name)} to ${count}`)
}

/** Half an hour; after the first third, nothing grows. */
async function soak(world: World): Promise<void> {
  const samples: Sample[] = []
  const until = performance.now() + soakMs
  while (performance.now() < until) {
    // One load after the other: what a load remembers of its runs is not what is measured.
    const load = await startLoad(world, { rate: 100 })
    for (let minute = performance.now() + 60_000; performance.now() < minute; await sleep(sampleMs))
      samples.push(await sample(world))
    await load.stop()
    await untilStill(world, load, 15_000)
    assertSound(await settle(world, load, 30_000))
    await world.receiver.forget(load.label)
  }
  const third = Math.floor(samples.length / 3)
  for (const name of samples[0]?.keys() ?? []) {
    const values = samples.map((each) => each.get(name) ?? 0)
    const [before, after] = [median(values.slice(third, 2 * third)), median(values.slice(2 * third))]
    const least = name.endsWith('sockets') ? slack.sockets : slack.megabytes
    ensure(after <= before + Math.max(before * slack.share, least), `${name} went from ${before} to ${after}`)
  }
}

const sockets = (world: World): Sample =>
  new Map(processes.map((name) => [`${name}: sockets`, readdirSync(`/proc/${world.pid(name)}/fd`).length]))

async function sample(world: World): Promise<Sample> {
  const taken = sockets(world)
  for (const name of processes) taken.set(`${name}: memory, MB`, residentMegabytes(world.pid(name)))
  const redis = await world.withRedis((client) => client.info('memory'))
  taken.set('Redis: memory, MB', Number(/used_memory:(\d+)/.exec(redis)?.[1]) / 1_048_576)
  return taken
}

const residentMegabytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
