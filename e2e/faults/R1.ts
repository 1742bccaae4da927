import type { ExtraProcess } from '../stack.ts'
import { sleep } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle } from './evidence.ts'
import { startLoad } from './load.ts'
import { tryKill } from './outage.ts'
import { ensure, leaseMs, type Row } from './row.ts'

const callMs = 200

export const row: Row = {
  title: 'workers killed at random: every orphan is tried again within lease + 2 s',
  async run(world) {
    const kills = world.profile.pick(3, 20)
    const pauseMs = world.profile.pick(2_000, 5_000)
    const extras = await Promise.all([1, 2, 3].map(() => world.stack.startExtra('executor')))
    const load = await startLoad(world, { behaviour: `slow/${callMs}` })
    const killedAtMs: number[] = []
    for (let kill = 0; kill < kills; kill += 1) {
      await sleep(pauseMs)
      await killOne(extras, world.stack.pids('executor'), killedAtMs)
      while (extras.length < 3) extras.push(await world.stack.startExtra('executor'))
    }
    await load.stop()
    const findings = await settle(world, load, leaseMs + 10_000)
    await Promise.all(extras.map((extra) => extra.stop()))
    assertSound(findings)

    const requests = await world.receiver.requests(load.label)
    const inFlight = killedAtMs.reduce(
      (sum, at) =>
        sum + requests.filter(({ receivedAtMs }) => receivedAtMs <= at && receivedAtMs > at - 2 * callMs).length,
      0,
    )
    ensure(
      findings.attempts <= load.accepted.length + inFlight,
      `${findings.attempts} attempts of ${load.accepted.length} runs, ${inFlight} in flight`,
    )
    const longestMs = Math.max(...findings.latenessMs, ...gapsMs(requests))
    ensure(longestMs < leaseMs + 2_000 + callMs, `an orphan waited ${Math.round(longestMs)} ms`)
  },
}

async function killOne(extras: ExtraProcess[], kept: readonly number[], killedAtMs: number[]): Promise<void> {
  const victims = [...kept, ...extras.map(({ pid }) => pid)]
  const victim = victims[Math.floor(Math.random() * victims.length)]
  if (victim === undefined) throw new Error('no worker runs')
  killedAtMs.push(Date.now())
  tryKill(victim, 'SIGKILL')
  const index = extras.findIndex(({ pid }) => pid === victim)
  if (index >= 0) await extras.splice(index, 1)[0]?.stop()
}

/** The times between one call of a run and the next. */
function gapsMs(requests: readonly { run: string; receivedAtMs: number }[]): number[] {
  return [...Map.groupBy(requests, ({ run }) => run).values()].flatMap((calls) =>
    calls.slice(1).map(({ receivedAtMs }, index) => receivedAtMs - (calls[index]?.receivedAtMs ?? receivedAtMs)),
  )
}
