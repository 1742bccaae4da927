import { sleep, waitFor } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle } from './evidence.ts'
import { startLoad } from './load.ts'
import { keepDown } from './outage.ts'
import { ensure, type Row } from './row.ts'

export const row: Row = {
  title: 'Redis down: creates go on, nothing exits, and the backlog drains when it is back',
  async run(world) {
    const outageMs = world.profile.pick(5_000, 60_000)
    const programs = () => ['api', 'engine', 'executor'].map((name) => world.pid(name)).join()
    const before = programs()
    const load = await startLoad(world)
    await sleep(2_000)
    await keepDown(world, 'redis', outageMs)
    const refused = load.refusals.length
    await waitFor('Redis to be back', () => world.withRedis((redis) => redis.ping()), { timeoutMs: 20_000 })
    const backAtMs = Date.now()
    await load.stop()
    const findings = await settle(world, load, 60_000)
    assertSound(findings)
    ensure(refused === 0, `${refused} creates were refused while Redis was down: ${JSON.stringify(load.refusals[0])}`)
    ensure(programs() === before, 'a program exited')
    const last = Math.max(...(await world.receiver.requests(load.label)).map(({ receivedAtMs }) => receivedAtMs))
    ensure(last - backAtMs < 60_000, `the backlog took ${Math.round(last - backAtMs)} ms to drain`)
  },
}
