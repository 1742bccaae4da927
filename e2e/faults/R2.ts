import { sleep } from '../wait.ts'
import { assertSound } from './checker.ts'
import { eventsOf, settle } from './evidence.ts'
import { startLoad } from './load.ts'
import { ensure, leaseMs, type Row } from './row.ts'

export const row: Row = {
  title: 'a worker frozen for longer than its lease changes nothing when it thaws',
  async run(world) {
    const frozenMs = leaseMs + world.profile.pick(3_000, 10_000)
    const spare = await world.stack.startExtra('executor')
    const frozen = await world.stack.startExtra('executor')
    try {
      const load = await startLoad(world, { behaviour: 'slow/300' })
      await sleep(2_000)
      process.kill(frozen.pid, 'SIGSTOP')
      await sleep(Math.min(frozenMs, world.profile.seconds * 1_000))
      await load.stop()
      await sleep(Math.max(0, frozenMs - world.profile.seconds * 1_000))

      const before = await settle(world, load, 10_000)
      assertSound(before)
      const twice = Map.groupBy(await world.receiver.requests(load.label), ({ run }) => run)
      const rescued = [...twice].filter(([, calls]) => calls.length > 1).map(([run]) => run)
      ensure(rescued.length > 0, 'the frozen worker held nothing: the test saw nothing')
      const told = await Promise.all(rescued.map((run) => eventsOf(world, run)))
      const runs = await Promise.all(rescued.map((run) => world.api.ask('GET', `/v1/runs/${run}`)))

      process.kill(frozen.pid, 'SIGCONT')
      await sleep(2_000)
      assertSound(await settle(world, load, 5_000))
      const toldLater = await Promise.all(rescued.map((run) => eventsOf(world, run)))
      const runsLater = await Promise.all(rescued.map((run) => world.api.ask('GET', `/v1/runs/${run}`)))
      ensure(JSON.stringify(told) === JSON.stringify(toldLater), 'the thawed worker told events')
      ensure(JSON.stringify(runs) === JSON.stringify(runsLater), 'the thawed worker changed runs')
    } finally {
      process.kill(frozen.pid, 'SIGCONT')
      await Promise.all([spare.stop(), frozen.stop()])
    }
  },
}
