import { sleep } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle } from './evidence.ts'
import { startLoad } from './load.ts'
import type { Row } from './row.ts'
import { assertByIndex, readScans } from './scans.ts'
import type { World } from './world.ts'

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
        assertByIndex(before, during)
      })
    } finally {
      await forget(world, queue)
    }
  },
}

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
