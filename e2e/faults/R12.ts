import { randomUUID } from 'node:crypto'
import { waitFor } from '../wait.ts'
import { ensure, type Row } from './row.ts'
import { createTicking, readLedger, type TickingJob } from './schedule-load.ts'
import type { World } from './world.ts'

const hours = 3
const lateInstants = hours * 60
const caughtUpMax = 100

export const row: Row = {
  title: 'after three hours without a scheduler, each catch-up rule makes up for as much as it says, oldest first',
  async run(world) {
    const label = `catch-up-${randomUUID()}`
    const make = async (catchUp: string): Promise<TickingJob> => {
      const [job] = await createTicking(world, {
        ...{ count: 1, everySeconds: [60, 60], url: world.receiver.url(`${label}-${catchUp}`, 'ok') },
        ...{ queue: `${label}-${catchUp}`, overlap: 'skip', more: { catchUp, catchUpMax: caughtUpMax } },
      })
      if (job === undefined) throw new Error('no job was made')
      return job
    }
    const rules = { skip: await make('skip'), one: await make('one'), all: await make('all') }
    await setBack(world, label, Object.keys(rules))
    const expected = { skip: 0, one: 1, all: caughtUpMax }
    for (const [rule, count] of Object.entries(expected) as [keyof typeof expected, number][]) {
      const caughtUp = await caughtUpOf(world, rules[rule], count)
      await assertOldestFirst(world, `${label}-${rule}`, caughtUp)
    }
    await Promise.all(Object.values(rules).map((job) => world.api.send('DELETE', `/v1/jobs/${job.id}`)))
  },
}

/** As if nobody had looked at these schedules for hours: their last late instant was one and a half minutes ago. */
const setBack = (world: World, label: string, rules: readonly string[]): Promise<void> =>
  world.withDatabase(async (client) => {
    for (const rule of rules) {
      const from = new Date(Date.now() - 90_000 - (lateInstants - 1) * 60_000)
      const { rowCount } = await client.query(
        `update schedules set next_at = $2, spec = spec || jsonb_build_object('anchor', $3::text)
         where job_id = (select id from jobs where name = $1)`,
        [`${label}-${rule} 0`, from, from.toISOString()],
      )
      ensure(rowCount === 1, 'the schedule was not set back')
    }
  })

/** The instants that were made up for, once they all ran; everything else that was late was missed, and counted. */
async function caughtUpOf(world: World, job: TickingJob, count: number): Promise<string[]> {
  return waitFor(
    `${count} instants to be made up for`,
    async () => {
      const rows = await readLedger(world, job)
      const sum = (outcome: string): number =>
        rows.filter((each) => each.outcome === outcome).reduce((total, each) => total + each.count, 0)
      const caughtUp = rows.filter((each) => each.isCaughtUp)
      if (sum('missed') + caughtUp.length < lateInstants) return false
      ensure(caughtUp.length === count, `${caughtUp.length} were made up for, not ${count}`)
      ensure(sum('missed') === lateInstants - count, `${sum('missed')} were missed, not ${lateInstants - count}`)
      return caughtUp.every((each) => each.outcome === 'run') && caughtUp.map((each) => each.nominalAt)
    },
    { timeoutMs: 120_000, everyMs: 500 },
  )
}

async function assertOldestFirst(world: World, label: string, caughtUp: readonly string[]): Promise<void> {
  const called = await waitFor(
    'the calls',
    async () => {
      const requests = await world.receiver.requests(label)
      const order = requests.flatMap(({ nominalAt }) =>
        nominalAt !== undefined && caughtUp.includes(nominalAt) ? [nominalAt] : [],
      )
      return order.length >= caughtUp.length && order
    },
    { timeoutMs: 30_000 },
  )
  ensure(called.length === caughtUp.length, `${called.length} calls for ${caughtUp.length} instants`)
  ensure([...called].sort().join() === called.join(), 'the oldest did not come first')
}
