import { sleep, waitFor } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle } from './evidence.ts'
import { startLoad } from './load.ts'
import { ensure, leaseMs, type Row } from './row.ts'
import type { World } from './world.ts'

export const row: Row = {
  title: 'Postgres restarted at once three times: 503 with Retry-After meanwhile, nothing acknowledged is lost',
  async run(world) {
    const load = await startLoad(world)
    for (let restart = 0; restart < 3; restart += 1) {
      await sleep(world.profile.pick(2_000, 10_000))
      await restartPostgres(world)
      const upAt = performance.now()
      await world.untilReady()
      const healthyMs = performance.now() - upAt
      ensure(healthyMs < 5_000, `the API was healthy ${Math.round(healthyMs)} ms after Postgres`)
    }
    await sleep(1_000)
    await load.stop()
    assertSound(await settle(world, load, leaseMs + 20_000))
    const odd = load.refusals.filter(
      ({ status, contentType, retryAfter }) =>
        status !== 503 || !contentType.startsWith('application/problem+json') || retryAfter === '',
    )
    ensure(load.refusals.length > 0, 'no create met the outage: the test saw nothing')
    ensure(odd.length === 0, `${odd.length} refusals were no 503 with Retry-After: ${JSON.stringify(odd[0])}`)
  },
}

/** An immediate shutdown, as `pg_ctl -m immediate`; whoever keeps it alive starts it again. */
async function restartPostgres(world: World): Promise<void> {
  const old = world.pid('postgres')
  process.kill(old, 'SIGQUIT')
  const isBack = async () =>
    world.pid('postgres') !== old && (await world.withDatabase((client) => client.query('select 1')))
  await waitFor('Postgres to be back', isBack, { timeoutMs: 60_000 })
}
