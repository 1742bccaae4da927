import { randomUUID } from 'node:crypto'
import { waitFor } from '../wait.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

interface WireRun {
  id: string
  status: string
  attempt: number
  dueAt: string
}

const askedMs = 120_000
/** A date of HTTP names a second, and a busy machine takes its time to write down what came of an attempt. */
const slackMs = 3_000
const retries = 3

export const row: Row = {
  title: 'a failing target is tried as often as the policy says, when it asks to be, and then is a dead letter',
  async run(world) {
    await Promise.all([
      assertAsked(world, `retry-after/${askedMs / 1_000}/1`),
      assertAsked(world, `retry-at/${askedMs / 1_000}/1`),
      assertDead(world),
    ])
  },
}

/** The next try is due when the target said, or at most a tenth later. */
async function assertAsked(world: World, behaviour: string): Promise<void> {
  const label = `asked-${randomUUID()}`
  const { id } = await world.api.ask<WireRun>('POST', '/v1/runs', {
    target: { type: 'http', url: world.receiver.url(label, behaviour) },
    retry: { limit: retries },
  })
  const run = await waitFor('the first try to be over', async () => {
    const now = await world.api.ask<WireRun>('GET', `/v1/runs/${id}`)
    return now.status === 'scheduled' && now.attempt === 1 && now
  })
  const [request] = await world.receiver.requests(label)
  ensure(request !== undefined, 'nothing was called')
  const waitMs = Date.parse(run.dueAt) - request.receivedAtMs
  ensure(waitMs >= askedMs - 1_000, `${behaviour}: the next try is ${waitMs} ms away`)
  ensure(waitMs <= askedMs * 1.1 + slackMs, `${behaviour}: the next try is ${waitMs} ms away`)
  await world.api.ask('POST', `/v1/runs/${id}/cancel`)
}

async function assertDead(world: World): Promise<void> {
  const label = `dead-${randomUUID()}`
  const { id } = await world.api.ask<WireRun>('POST', '/v1/runs', {
    target: { type: 'http', url: world.receiver.url(label, 'status/500') },
    retry: { limit: retries },
  })
  const letter = await waitFor('the dead letter', async () => {
    const { status, body } = await world.api.send<{ status: string }>('GET', `/v1/dead-letters/${id}`)
    return status === 200 && body
  })
  ensure(letter.status === 'failed', `its run is ${letter.status}`)
  const attempts = await world.api.ask<{ data: { attempt: number; httpStatus: number }[] }>(
    'GET',
    `/v1/runs/${id}/attempts`,
  )
  const told = attempts.data.map(({ attempt, httpStatus }) => `${attempt}:${httpStatus}`).toSorted()
  ensure(told.join() === '1:500,2:500,3:500,4:500', `the attempts kept are ${told.join()}`)
  const called = (await world.receiver.requests(label)).map(({ attempt }) => attempt)
  ensure(called.join() === '1,2,3,4', `called were ${called.join()}`)
}
