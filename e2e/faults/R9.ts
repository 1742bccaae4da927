import type { Client } from 'pg'
import { sleep } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle } from './evidence.ts'
import { startLoad } from './load.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

const tables = ['due', 'ready', 'held']

export const row: Row = {
  title: 'runs go on as they do above a heap of future ones: no step of theirs reads a table whole',
  async run(world) {
    const count = world.profile.pick(20_000, 1_000_000)
    const queue = 'far-away'
    const run = { target: { type: 'http', url: world.receiver.url(queue, 'ok') }, queue }
    for (let made = 0; made < count; made += 1_000) {
      const dueAt = new Date(Date.now() + 30 * 86_400_000 + made).toISOString()
      const runs = Array.from({ length: 1_000 }, () => ({ ...run, dueAt }))
      await world.api.ask('POST', '/v1/runs/batch', { runs })
    }
    try {
      await world.withDatabase(async (client) => {
        const before = await readScans(client)
        const load = await startLoad(world)
        await sleep(world.profile.pick(5_000, 60_000))
        // Sessions tell of what they did a moment after they did it.
        const during = await readScans(client)
        await load.stop()
        assertSound(await settle(world, load, 30_000))
        for (const table of tables) {
          const { whole, byIndex } = difference(during.get(table), before.get(table))
          ensure(whole === 0, `${table} was read whole ${whole} times`)
          ensure(byIndex > 0, `${table} was not looked into: the test saw nothing`)
        }
      })
    } finally {
      await forget(world, queue)
    }
  },
}

interface Scans {
  whole: number
  byIndex: number
}

async function readScans(client: Client): Promise<Map<string, Scans>> {
  const { rows } = await client.query<Scans & { name: string }>(
    `select relname as name, seq_scan::float8 as whole, idx_scan::float8 as "byIndex"
     from pg_stat_user_tables where schemaname = 'public' and relname = any($1)`,
    [tables],
  )
  return new Map(rows.map((each) => [each.name, each]))
}

const difference = (now: Scans | undefined, then: Scans | undefined): Scans => ({
  whole: (now?.whole ?? 0) - (then?.whole ?? 0),
  byIndex: (now?.byIndex ?? 0) - (then?.byIndex ?? 0),
})

/** Takes the heap away again, for whoever comes next. */
const forget = (world: World, queue: string): Promise<unknown> =>
  world.withDatabase((client) =>
    client.query(
      `with q as (select tenant_id, id from queues where name = $1),
         d as (delete from due using q where due.tenant_id = q.tenant_id and due.queue_id = q.id)
       delete from inputs using q where inputs.tenant_id = q.tenant_id and inputs.queue_id = q.id`,
      [queue],
    ),
  )
