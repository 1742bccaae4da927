import { randomUUID } from 'node:crypto'
import { makeTenants } from '../tenants.ts'
import { sleep, waitFor } from '../wait.ts'
import type { Benchmark, Measure } from './benchmark.ts'
import { warmUp } from './http-runs.ts'
import type { Lab } from './lab.ts'
import { ahead } from './lateness.ts'
import { Meridian, runBody } from './meridian.ts'

const perSecond = 1_000

/** Only runs that are due while the neighbour's backlog is being worked off count. */
async function besideBacklog(lab: Lab): Promise<Measure[]> {
  const stack = await lab.stack()
  const target = await lab.target()
  const { backlog, seconds } = lab.profile
  const [tenant] = await makeTenants(stack.home, ['bench-neighbour'])
  const neighbour = new Meridian(stack, tenant?.apiKey)
  try {
    const queue = await neighbour.createQueue(`backlog-${randomUUID()}`, { paused: true })
    await neighbour.acceptBatches(backlog, (index) => runBody(index, target.url, { queue }))
    await neighbour.query('vacuum analyze ready')
    await neighbour.query('checkpoint')
    const before = await target.count()
    let tookMs = 0
    const workOff = async (fromMs: number): Promise<number> => {
      await sleep(Math.max(0, fromMs - Date.now()))
      await neighbour.resumeQueue(queue)
      const isOver = async () => (await target.count()) - before >= backlog
      await waitFor('the backlog to be worked off', isOver, { timeoutMs: 600_000, everyMs: 20 })
      tookMs = Date.now() - fromMs
      return fromMs + tookMs
    }
    const measures = await ahead(lab, perSecond, { scenario: 'backlog', meanwhile: workOff })
    return [
      ...measures,
      { metric: 'backlog.seconds', value: Math.min(seconds, tookMs / 1_000), unit: 's' },
      { metric: 'backlog.rate', value: (backlog * 1_000) / tookMs, unit: 'runs/s' },
    ]
  } finally {
    await neighbour.close()
  }
}

export const besideNeighbour: Benchmark = {
  title: 'Lateness at 1,000 runs a second, quiet and while the backlog of another tenant is worked off',
  contenders: [
    {
      name: 'meridian',
      round: async (lab) => {
        await warmUp(lab)
        return [...(await ahead(lab, perSecond, { scenario: 'quiet' })), ...(await besideBacklog(lab))]
      },
    },
  ],
  rounds: 3,
}
