import { sleep, waitFor } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle, untilStill } from './evidence.ts'
import { type Load, startLoad } from './load.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

const callMs = 300
const workers = ['executor', 'engine'] as const
/** An API that comes back takes its time, so it is not part of the short profile. */
const all = [...workers, 'api'] as const

export const row: Row = {
  title: 'processes that are asked to stop, one after the other, leave nothing for a lease to run out',
  async run(world) {
    // Beside each that is stopped another one works, as in any deployment that rolls.
    const spares = await Promise.all([world.stack.startExtra('executor'), world.stack.startExtra('engine')])
    try {
      const load = await startLoad(world, { behaviour: `slow/${callMs}` })
      for (let round = 0; round < world.profile.pick(1, 10); round += 1) {
        for (const kind of world.profile.name === 'ci' ? workers : all) {
          await sleep(500)
          await replace(world, kind)
        }
      }
      await load.stop()
      await untilStill(world, load, 15_000)
      const findings = await settle(world, load, 30_000)
      assertSound(findings)
      const rescued = await countRescued(world, load)
      ensure(rescued === 0, `${rescued} runs had to be rescued`)
      if (world.profile.name === 'ci') return
      const longestMs = Math.max(...findings.latenessMs)
      ensure(longestMs < 2_000, `a run waited ${Math.round(longestMs)} ms`)
    } finally {
      await Promise.all(spares.map((spare) => spare.stop()))
    }
  },
}

/** Asks a process to stop, and waits until the one that takes its place is there. */
async function replace(world: World, kind: (typeof all)[number]): Promise<void> {
  const old = world.pid(kind)
  process.kill(old, 'SIGTERM')
  await waitFor(`another ${kind}`, () => Promise.resolve(world.stack.pids(kind).some((pid) => pid !== old)), {
    timeoutMs: 30_000,
  })
  if (kind === 'api') await world.untilReady()
}

/** Runs that were given out again because nobody had told how they stood. */
const countRescued = (world: World, load: Load): Promise<number> =>
  world.withDatabase(async (client) => {
    const { rows } = await client.query<{ count: number }>(
      `select count(distinct e.subject)::int as count from events e
       where e.type = 'run.rescued' and e.subject in (
         select r.id from runs r join queues q on q.tenant_id = r.tenant_id and q.id = r.queue_id where q.name = $1)`,
      [load.label],
    )
    return rows[0]?.count ?? 0
  })
