import { sleep, waitFor } from '../wait.ts'
import { assertSound } from './checker.ts'
import { readAll, settle } from './evidence.ts'
import { startLoad } from './load.ts'
import { ensure, type Row } from './row.ts'
import { startTcpProxy } from './tcp-proxy.ts'
import type { World } from './world.ts'

interface Breaker {
  host: string
  state: string
  held: number
  probesFailed: number
}

/** What a breaker opens at, with what one executor may have begun before it knows. */
const attemptsMax = (world: World): number => 20 + world.profile.rate
/** Runs that are let go together may overtake each other by as much. */
const overtakingMs = 2_000

export const row: Row = {
  title: 'a target is down for a while: few attempts are spent, nothing is lost, and all goes in order when it is back',
  async run(world) {
    const downMs = world.profile.pick(5_000, 60_000)
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(world.receiver.url('x', 'ok')).port) })
    try {
      const load = await startLoad(world, { port: proxy.port, behaviour: 'ok' })
      await sleep(1_000)
      proxy.set({ refuse: true })
      proxy.reset()
      const host = `127.0.0.1:${proxy.port}`
      const ours = async (): Promise<Breaker | undefined> =>
        (await readAll<Breaker>(world, '/v1/breakers?all=true')).find((breaker) => breaker.host === host)
      await waitFor('runs to be held', async () => ((await ours())?.held ?? 0) > 10, { timeoutMs: 20_000 })
      await expectReason(world, load.label, host)
      await sleep(downMs)
      const probesFailed = (await ours())?.probesFailed ?? 0
      const backAtMs = Date.now()
      proxy.set({})
      await sleep(2_000)
      await load.stop()
      assertSound(await settle(world, load, 60_000))
      await waitFor('the breaker to close', async () => (await ours())?.state === 'closed', { timeoutMs: 20_000 })

      const runs = await readAll<{ attempt: number }>(world, `/v1/runs?queue=${load.label}`)
      const requests = await world.receiver.requests(load.label)
      const failed = runs.reduce((sum, { attempt }) => sum + attempt, 0) - requests.length
      // One more probe may have met the target down since it was asked.
      const bound = attemptsMax(world) + probesFailed + 1
      ensure(failed <= bound, `${failed} attempts were spent on a target that was down, more than ${bound}`)

      const dueOf = new Map(load.accepted.map(({ id, dueAtMs }) => [id, dueAtMs]))
      const drained = requests.filter(({ attempt, receivedAtMs }) => attempt === 1 && receivedAtMs >= backAtMs)
      const moved = drained.filter(({ run, dueAt }) => Date.parse(dueAt ?? '') !== dueOf.get(run))
      ensure(moved.length === 0, `${moved.length} runs were told another due instant than they had`)
      let latest = Number.NEGATIVE_INFINITY
      for (const { run } of drained) {
        const dueAtMs = dueOf.get(run) ?? Number.NaN
        ensure(dueAtMs > latest - overtakingMs, `a run was overtaken by one that was due ${latest - dueAtMs} ms later`)
        latest = Math.max(latest, dueAtMs)
      }
    } finally {
      await proxy.close()
    }
  },
}

/** A run that waits for the host says so. */
async function expectReason(world: World, queue: string, host: string): Promise<void> {
  let seen: unknown
  const isTold = async (): Promise<boolean> => {
    const { data } = await world.api.ask<{ data: { id: string }[] }>(
      'GET',
      `/v1/runs?queue=${queue}&status=ready&limit=1`,
    )
    if (data[0] === undefined) return false
    const why = await world.api.ask<{ reasons: { code: string; evidence: { host?: string } }[] }>(
      'GET',
      `/v1/runs/${data[0].id}/why`,
    )
    seen = why
    return why.reasons.some(({ code, evidence }) => code === 'breaker-open' && evidence.host === host)
  }
  await waitFor(`a held run to say why, not ${JSON.stringify(seen)}`, isTold, { timeoutMs: 10_000 })
}
