import { randomUUID } from 'node:crypto'
import { sleep, waitFor } from '../wait.ts'
import { isAlive, tryKill } from './outage.ts'
import { ensure, type Row } from './row.ts'
import { checkLedger, createTicking, readLedger, type TickingJob } from './schedule-load.ts'
import type { World } from './world.ts'

const readersAtOnce = 8

/** The look-ahead, and the grace that a pass of a scheduler has. */
const settledMs = 5_000

export const row: Row = {
  title: 'schedulers are killed at random over 2,000 schedules: the ledger has every instant, once, and each run once',
  async run(world) {
    const label = `ticks-${randomUUID()}`
    const [count, seconds] = [world.profile.pick(2_000, 2_000), world.profile.pick(15, 600)]
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
    await assertComplete(world, jobs, untilMs)
    await assertOnce(world, label)
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

/** The set of instants, recomputed, is what the ledger holds. */
async function assertComplete(world: World, jobs: readonly TickingJob[], untilMs: number): Promise<void> {
  const found = { lost: [] as string[], extra: [] as string[], undecided: [] as string[], instants: 0 }
  let next = 0
  await Promise.all(
    Array.from({ length: readersAtOnce }, async () => {
      for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) {
        const rows = await readLedger(world, job)
        const { lost, extra, instants } = checkLedger(job, rows, untilMs)
        found.lost.push(...lost)
        found.extra.push(...extra)
        found.instants += instants
        for (const { outcome, nominalAt } of rows)
          if (outcome === 'pending' && Date.parse(nominalAt) < untilMs) found.undecided.push(`${job.id} ${nominalAt}`)
      }
    }),
  )
  ensure(found.instants >= jobs.length, `only ${found.instants} instants of ${jobs.length} schedules were seen`)
  for (const kind of ['lost', 'extra', 'undecided'] as const)
    ensure(found[kind].length === 0, `${kind}: ${found[kind].length} instants (${found[kind].slice(0, 5).join(', ')})`)
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
