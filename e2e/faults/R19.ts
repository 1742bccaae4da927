import { randomUUID } from 'node:crypto'
import { waitFor } from '../wait.ts'
import { readAll } from './evidence.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

interface WireRun {
  id: string
  replayOf: string | null
}
interface WireOperation {
  id: string
  state: string
  total: number
  done: number
}

export const row: Row = {
  title: 'many dead letters are redriven twice at once: each runs again once, and asking twice is one operation',
  async run(world) {
    const count = world.profile.pick(300, 10_000)
    const queue = `dead-${randomUUID()}`
    await makeDead(world, queue, count)
    const plan = { kind: 'dead-letters.redrive', filter: { queue } }
    const key = { 'idempotency-key': randomUUID() }
    const create = (headers: Record<string, string>) =>
      world.api.send<WireOperation>('POST', '/v1/operations', plan, headers)
    const answers = await Promise.all([create(key), create(key), create({ 'idempotency-key': randomUUID() })])
    const made = answers.filter(({ status }) => status < 300).map(({ body }) => body.id)
    ensure(
      answers.every(({ status }) => status < 300 || status === 409),
      `answered were ${answers.map(({ status, text }) => `${status} ${text}`).join()}`,
    )
    const again = await create(key)
    ensure(made.includes(again.body.id), 'asked again with its key, another operation was made')
    ensure(new Set(made).size <= 2, `${new Set(made).size} operations were made of two`)
    const ended = await Promise.all([...new Set(made)].map((id) => untilFinished(world, id)))
    const done = ended.reduce((sum, operation) => sum + operation.done, 0)
    ensure(done === count, `${done} were redriven, not ${count}`)

    const runs = await readAll<WireRun>(world, `/v1/runs?queue=${queue}`)
    const replayed = runs.flatMap(({ replayOf }) => (replayOf === null ? [] : [replayOf]))
    ensure(replayed.length === count, `${replayed.length} runs were made again, not ${count}`)
    ensure(new Set(replayed).size === count, `${count - new Set(replayed).size} were made again more than once`)
  },
}

/** Runs that all fail at once, and are kept: refused, so that their host is not taken for one that is down. */
async function makeDead(world: World, queue: string, count: number): Promise<void> {
  const run = { target: { type: 'http', url: world.receiver.url(queue, 'status/404') }, queue, retry: { limit: 0 } }
  for (let made = 0; made < count; made += 1_000) {
    const runs = Array.from({ length: Math.min(1_000, count - made) }, () => run)
    await world.api.ask('POST', '/v1/runs/batch', { runs })
  }
  await waitFor(
    'the dead letters',
    async () => {
      const groups = await world.api.ask<{ data: { queue: string; count: number }[] }>('GET', '/v1/dead-letters/groups')
      return groups.data.find((group) => group.queue === queue)?.count === count
    },
    { timeoutMs: 60_000, everyMs: 200 },
  )
}

const untilFinished = (world: World, id: string): Promise<WireOperation> =>
  waitFor(
    'the operation to end',
    async () => {
      const operation = await world.api.ask<WireOperation>('GET', `/v1/operations/${id}`)
      return operation.state === 'finished' && operation
    },
    { timeoutMs: 60_000, everyMs: 100 },
  )
