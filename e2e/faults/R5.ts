import { sleep, waitFor } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle } from './evidence.ts'
import { startLoad } from './load.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

const degradedMaxMs = 5_000

export const row: Row = {
  title: 'Redis is full: the API says so, creates go on, and the backlog drains when there is room again',
  async run(world) {
    const programs = () => ['api', 'engine', 'executor'].map((name) => world.pid(name)).join()
    const before = programs()
    const load = await startLoad(world)
    await sleep(1_000)
    const limit = await world.withRedis(async (redis) => (await redis.config('GET', 'maxmemory')) as string[])
    try {
      await world.withRedis(async (redis) => {
        await redis.config('SET', 'maxmemory-policy', 'noeviction')
        await redis.config('SET', 'maxmemory', '1')
      })
      await waitFor('the API to say that it is degraded', () => hasStatus(world, 'degraded'), {
        timeoutMs: degradedMaxMs,
        everyMs: 100,
      })
      await sleep(world.profile.pick(3_000, 30_000))
    } finally {
      await world.withRedis((redis) => redis.config('SET', 'maxmemory', limit[1] ?? '0'))
    }
    const refused = load.refusals.length
    await waitFor('the API to be well again', () => hasStatus(world, 'ready'))
    await load.stop()
    assertSound(await settle(world, load, 60_000))
    ensure(refused === 0, `${refused} creates were refused while Redis was full: ${JSON.stringify(load.refusals[0])}`)
    ensure(programs() === before, 'a program exited')
  },
}

const hasStatus = async (world: World, status: string): Promise<boolean> =>
  (await world.api.send<{ status: string }>('GET', '/ready')).body.status === status
