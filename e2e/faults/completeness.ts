import { randomUUID } from 'node:crypto'
import { sleep, waitFor } from '../wait.ts'
import { isAlive, tryKill } from './outage.ts'
import { ensure, type Row } from './row.ts'
import { createTicking, type TickingJob } from './schedule-load.ts'
import type { World } from './world.ts'

const readersAtOnce = 8

/** The look-ahead, and the grace that a pass of a scheduler has. */
const settledMs = 5_000

export const row: Row = {
  title: 'schedulers are killed at random: the certificate of each schedule is whole, and each instant has one run',
  async run(world) {
    const label = `ticks-${randomUUID()}`
    const [count, seconds] = [world.profile.pick(600, 2_000), world.profile.pick(12, 600)]
    const everySeconds = world.profile.pick(8, 4)
    const jobs = await createTicking(world, {
      count,
      everySeconds: [everySeconds, everySeconds * 4],
      url: world.receiver.url(label, 'ok'),
      queue: label,
      overlap: 'skip',
    })
    const kills = await killAtRandom(world, seconds * 1_000)
    ensure(kills > 0, 'no scheduler was killed')
    const untilMs = Date.now()
    await waitFor('the schedulers to catch up', () => isCaughtUp(world, untilMs), { timeoutMs: 60_000, everyMs: 500 })
    await sleep(settledMs)
    const instants = await assertCertified(world, jobs, untilMs)
    await assertOnce(world, label)
    console.log(`      ${instants} instants of ${count} schedules, ${kills} schedulers killed`)
    await Promise.all(jobs.map((job) => world.api.send('DELETE', `/v1/jobs/${job.id}`)))
  },
}

/** Kills one of three schedulers every second or so, in whatever it is doing, and starts another in its place. */
async function killAtRandom(world: World, forMs: number): Promise<number> {
  // It is like one that runs, which may have been killed a moment ago.
  const startEngine = () => waitFor('another scheduler', () => world.stack.startExtra('engine'))
  const engines = await Promise.all([startEngine(), startEngine()])
  let kills = 0
  try {
    const endMs = Date.now() + forMs
    while (Date.now() < endMs) {
      await sleep(300 + Math.random() * 1_200)
      const pids = [...world.stack.pids('engine'), ...engines.map(({ pid }) => pid)].filter(isAlive)
      const pid = pids[Math.floor(Math.random() * pids.length)]
      if (pid === undefined) continue
      tryKill(pid, 'SIGKILL')
      kills += 1
      for (const [index, engine] of engines.entries()) if (!isAlive(engine.pid)) engines[index] = await startEngine()
    }
  } finally {
    await Promise.all(engines.map((engine) => engine.stop()))
  }
  return kills
}

const isCaughtUp = (world: World, untilMs: number): Promise<boolean> =>
  world.withDatabase(async (client) => {
    const { rows } = await client.query<{ late: boolean }>(
      'select exists (select from schedules where next_at <= $1 and not paused) as late',
      [new Date(untilMs)],
    )
    return rows[0]?.late === false
  })

interface Certificate {
  expected: { count: number; digest: string }
  ledger: { count: number; digest: string }
  outcomes: { pending: number; run: number; skipped: number; missed: number }
  undecided: number
  unchecked: number
  mismatchCount: number
  mismatches: { at: string; kind: string }[]
  isComplete: boolean
}

/** What the installation signs of each schedule: the set of instants, computed again, is what the ledger holds. */
async function assertCertified(world: World, jobs: readonly TickingJob[], untilMs: number): Promise<number> {
  const to = new Date(untilMs).toISOString()
  const wrong: string[] = []
  let instants = 0
  const begun = jobs.filter(({ firstMs }) => firstMs < untilMs)
  let next = 0
  await Promise.all(
    Array.from({ length: readersAtOnce }, async () => {
      for (let job = begun[next++]; job !== undefined; job = begun[next++]) {
        const from = new Date(job.firstMs).toISOString()
        const { certificate } = await world.api.ask<{ certificate: Certificate }>(
          'GET',
          `/v1/jobs/${job.id}/certificate?from=${from}&to=${to}`,
        )
        const { expected, ledger, outcomes, undecided, unchecked, mismatchCount, mismatches, isComplete } = certificate
        const should = Math.ceil((untilMs - job.firstMs) / job.everyMs)
        const isWhole = isComplete && mismatchCount + undecided + unchecked + outcomes.pending === 0
        const isAll = expected.count === should && ledger.count === should
        instants += ledger.count
        if (!isWhole || !isAll)
          wrong.push(`${job.id}: ${JSON.stringify({ should, expected, ledger, outcomes, undecided, mismatches })}`)
      }
    }),
  )
  ensure(instants >= jobs.length / 2, `only ${instants} instants of ${jobs.length} schedules were seen`)
  ensure(wrong.length === 0, `${wrong.length} certificates are not whole: ${wrong.slice(0, 3).join('; ')}`)
  return instants
}

/** No instant was called for by two runs, and no run ended twice. */
async function assertOnce(world: World, label: string): Promise<void> {
  const requests = await world.receiver.requests(label)
  ensure(requests.length > 0, 'nothing was called')
  await world.withDatabase(async (client) => {
    const { rows } = await client.query<{ doubled: number; ended: number }>(
      `select (select count(*)::int from (select 1 from inputs i join queues q on q.id = i.queue_id where q.name = $1 and i.nominal_at is not null
           group by i.job_id, i.nominal_at having count(*) > 1) x) as doubled,
         (select count(*)::int from (select 1 from runs r join queues q on q.id = r.queue_id where q.name = $1
           group by r.id having count(*) > 1) x) as ended`,
      [label],
    )
    ensure(rows[0]?.doubled === 0, `${rows[0]?.doubled} instants have two runs`)
    ensure(rows[0]?.ended === 0, `${rows[0]?.ended} runs ended twice`)
  })
}
