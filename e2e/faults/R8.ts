import { percentile } from '../bench/statistics.ts'
import { sleep } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle, untilStill } from './evidence.ts'
import { startLoad } from './load.ts'
import { ensure, type Row } from './row.ts'
import { assertByIndex, readScans } from './scans.ts'
import type { World } from './world.ts'

const latenessMaxMs = 250
/** What a table may grow to whatever it was at the start: nothing that was deleted meanwhile may be cleaned away. */
const smallBytes = 64 * 1_024 * 1_024

export const row: Row = {
  title: 'runs go on as they do while a transaction keeps everything that they leave behind from being cleaned away',
  async run(world) {
    const rate = world.profile.pick(50, 200)
    await world.withDatabase((holder) =>
      world.withDatabase(async (client) => {
        await holder.query('begin isolation level repeatable read')
        await holder.query('select count(*) from held')
        const sizes = await readSizes(world)
        const scans = await readScans(client)
        const load = await startLoad(world, { rate })
        await sleep(world.profile.pick(5_000, 600_000))
        const during = await readScans(client)
        await load.stop()
        await untilStill(world, load, 15_000)
        const findings = await settle(world, load, 30_000)
        const { rows } = await holder.query<{ age: number }>(
          'select age(backend_xmin) as age from pg_stat_activity where pid = pg_backend_pid()',
        )
        ensure((rows[0]?.age ?? 0) > rate, 'the transaction held nothing back: the test saw nothing')
        await holder.query('commit')
        assertSound(findings)
        assertByIndex(scans, during)
        if (world.profile.name === 'bench') assertUnhurt(findings.latenessMs, sizes, await readSizes(world))
      }),
    )
  },
}

/** The end is as quick as the beginning, and no table is much larger. */
function assertUnhurt(latenessMs: readonly number[], before: Map<string, number>, after: Map<string, number>): void {
  const late = percentile(latenessMs.slice(-latenessMs.length / 10), 99)
  ensure(late < latenessMaxMs, `p99 of the lateness at the end is ${late.toFixed(0)} ms`)
  for (const [table, bytes] of after) {
    const most = 3 * Math.max(before.get(table) ?? 0, smallBytes)
    ensure(bytes <= most, `${table} has grown to ${(bytes / 1_048_576).toFixed(0)} MB`)
  }
}

const readSizes = (world: World): Promise<Map<string, number>> =>
  world.withDatabase(async (client) => {
    const { rows } = await client.query<{ name: string; bytes: number }>(
      `select relname as name, pg_total_relation_size(relid)::float8 as bytes
       from pg_stat_user_tables where schemaname = 'public' and relname in ('due', 'ready', 'held')`,
    )
    return new Map(rows.map(({ name, bytes }) => [name, bytes]))
  })
