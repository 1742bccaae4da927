import type { Client } from 'pg'
import type { ExtraProcess } from '../stack.ts'
import { sleep, waitFor } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle } from './evidence.ts'
import { type Load, startLoad } from './load.ts'
import { findLockHolder } from './lock-holder.ts'
import { isAlive, tryKill } from './outage.ts'
import { ensure, leaseMs, type Row } from './row.ts'
import type { World } from './world.ts'

const kinds = ['api', 'engine', 'executor'] as const

export const row: Row = {
  title: 'whoever dispatches is killed, or frozen: somebody else goes on at once',
  async run(world) {
    const extras = await Promise.all(kinds.flatMap((kind) => [0, 1].map(() => world.stack.startExtra(kind))))
    const engines = extras.slice(2, 4)
    const load = await startLoad(world)
    try {
      await world.withDatabase(async (client) => {
        for (let kill = 0; kill < world.profile.pick(3, 10); kill += 1) {
          await sleep(1_000)
          const at = await strike(world, client, engines, 'SIGKILL')
          await sleep(1_500)
          await assertGap(world, load, at, 1_000)
          await replaceDead(world, engines)
        }
        for (let freeze = 0; freeze < world.profile.pick(1, 5); freeze += 1) {
          await sleep(1_000)
          const at = await strike(world, client, engines, 'SIGSTOP')
          await sleep(4_000)
          await assertGap(world, load, at, 3_000)
          for (const pid of enginePids(world, engines)) tryKill(pid, 'SIGCONT')
        }
      })
      await load.stop()
      assertSound(await settle(world, load, leaseMs + 30_000))
    } finally {
      for (const pid of enginePids(world, engines)) tryKill(pid, 'SIGCONT')
      await Promise.all([...extras, ...engines].map((extra) => extra.stop()))
    }
  },
}

const enginePids = (world: World, extras: readonly ExtraProcess[]) => [
  ...world.stack.pids('engine'),
  ...extras.map(({ pid }) => pid),
]

/** Signals whoever holds the dispatch lock, in the moment it holds it. Returns when that was. */
async function strike(
  world: World,
  client: Client,
  engines: readonly ExtraProcess[],
  signal: NodeJS.Signals,
): Promise<number> {
  const holder = await waitFor('somebody to dispatch', () => findLockHolder(client, enginePids(world, engines)), {
    timeoutMs: 20_000,
    everyMs: 1,
  })
  process.kill(holder, signal)
  return Date.now()
}

/** No pause between two first calls after `sinceMs` may be as long as `limitMs`. */
async function assertGap(world: World, load: Load, sinceMs: number, limitMs: number): Promise<void> {
  const times = (await world.receiver.requests(load.label))
    .filter(({ attempt, receivedAtMs }) => attempt === 1 && receivedAtMs >= sinceMs - 200)
    .map(({ receivedAtMs }) => receivedAtMs)
  const all = [sinceMs, ...times, Date.now()].sort((a, b) => a - b)
  const longest = Math.max(...all.slice(1).map((time, index) => time - (all[index] ?? time)))
  ensure(longest < limitMs, `nothing was dispatched for ${Math.round(longest)} ms`)
}

async function replaceDead(world: World, engines: ExtraProcess[]): Promise<void> {
  for (const [index, extra] of engines.entries()) {
    if (!isAlive(extra.pid)) engines[index] = await world.stack.startExtra('engine')
  }
}
