import { sleep } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle } from './evidence.ts'
import { startLoad } from './load.ts'
import { ensure, type Row } from './row.ts'

export const row: Row = {
  title: 'Redis emptied three times under load: all due runs are dispatched within 10 s of the last time',
  async run(world) {
    const load = await startLoad(world)
    let flushedAtMs = 0
    for (let flush = 0; flush < 3; flush += 1) {
      await sleep((world.profile.seconds * 1_000) / 4)
      await world.withRedis((redis) => redis.flushall())
      flushedAtMs = Date.now()
    }
    await sleep((world.profile.seconds * 1_000) / 4)
    await load.stop()
    assertSound(await settle(world, load, 15_000))
    const calls = Map.groupBy(await world.receiver.requests(load.label), ({ run }) => run)
    const slow = load.accepted.filter(({ id, dueAtMs }) => {
      const first = calls.get(id)?.[0]?.receivedAtMs ?? Number.POSITIVE_INFINITY
      return first > Math.max(dueAtMs, flushedAtMs) + 10_000
    })
    ensure(slow.length === 0, `${slow.length} runs were dispatched later than 10 s after the last flush`)
  },
}
