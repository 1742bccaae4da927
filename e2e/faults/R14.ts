import { randomUUID } from 'node:crypto'
import { sleep, waitFor } from '../wait.ts'
import { ensure, type Row } from './row.ts'
import { checkLedger, createTicking, readLedger } from './schedule-load.ts'

const readersAtOnce = 8

export const row: Row = {
  title: 'everything is restarted under thousands of intervals: their phases do not move',
  async run(world) {
    const label = `phases-${randomUUID()}`
    const count = world.profile.pick(1_000, 10_000)
    const jobs = await createTicking(world, {
      ...{ count, everySeconds: [20, 40], url: world.receiver.url(label, 'ok'), queue: label, overlap: 'skip' },
    })
    const deadMs = world.profile.pick(1_000, 5_000)
    for (const name of ['engine', 'executor', 'api']) {
      world.kill(name)
      await sleep(deadMs)
    }
    await world.untilReady()
    await waitFor('the processes to be back', () =>
      ['engine', 'executor'].every((name) => world.stack.pids(name).length > 0),
    )
    const sinceMs = Date.now()
    await sleep(world.profile.pick(5_000, 45_000))
    const untilMs = Date.now() - 2_000
    let next = 0
    let late = 0
    await Promise.all(
      Array.from({ length: readersAtOnce }, async () => {
        for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) {
          const { lost, extra } = checkLedger(job, await readLedger(world, job), job.anchorMs)
          ensure(lost.length + extra.length === 0, `not where it was: ${[...lost, ...extra].join(', ')}`)
        }
      }),
    )
    for (const { nominalAt, receivedAtMs } of await world.receiver.requests(label)) {
      const nominalMs = Date.parse(nominalAt ?? '')
      if (nominalMs > sinceMs + 5_000 && nominalMs < untilMs && Math.abs(receivedAtMs - nominalMs) > 1_000) late += 1
    }
    ensure(late === 0, `${late} calls were more than a second from where they were before`)
    await Promise.all(jobs.map((job) => world.api.send('DELETE', `/v1/jobs/${job.id}`)))
  },
}
