import { randomUUID } from 'node:crypto'
import { sleep, waitFor } from '../wait.ts'
import { eventsOf } from './evidence.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

const endings = ['succeeded', 'failed', 'cancelled', 'expired']

export const row: Row = {
  title: 'cancel while completing: the run ends exactly once, and everybody tells the same end',
  async run(world) {
    const queue = `race-${randomUUID()}`
    let left = world.profile.pick(150, 1_000)
    const ends = new Map<string, number>()
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        while (left > 0) {
          left -= 1
          const end = await race(world, queue)
          ends.set(end, (ends.get(end) ?? 0) + 1)
        }
      }),
    )
    ensure(
      (ends.get('succeeded') ?? 0) > 0 && (ends.get('cancelled') ?? 0) > 0,
      `no race: ${JSON.stringify([...ends])}`,
    )
  },
}

/** One run and one cancel at about the same time. Returns how it ended. */
async function race(world: World, queue: string): Promise<string> {
  const url = world.receiver.url(queue, 'slow/10')
  const { id } = await world.api.ask<{ id: string }>('POST', '/v1/runs', { target: { type: 'http', url }, queue })
  await sleep(Math.random() * 60)
  const cancel = await world.api.send('POST', `/v1/runs/${id}/cancel`)
  const read = async () => (await world.api.ask<{ status: string }>('GET', `/v1/runs/${id}`)).status
  const status = await waitFor('the run to end', async () => {
    const now = await read()
    return endings.includes(now) && now
  })
  const told = (await eventsOf(world, id)).filter((type) => endings.includes(type.replace('run.', '')))
  ensure(told.length === 1 && told[0] === `run.${status}`, `${id} is ${status}, told were ${told.join()}`)
  const expected = status === 'cancelled' ? 200 : 409
  ensure(cancel.status === expected, `${id} is ${status}, the cancel was answered ${cancel.status}`)
  return status
}
