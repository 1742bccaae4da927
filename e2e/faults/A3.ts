import { randomUUID } from 'node:crypto'
import { Api } from '../api.ts'
import { waitFor } from '../wait.ts'
import { readAll } from './evidence.ts'
import { ensure, type Row } from './row.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import type { World } from './world.ts'

export const row: Row = {
  title: 'the API is killed between commit and response: the retry finds the run that was made',
  async run(world) {
    const queue = `answer-lost-${randomUUID()}`
    const url = new URL(world.api.origin)
    const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) })
    const times = world.profile.pick(3, 20)
    try {
      for (let time = 0; time < times; time += 1) await loseAnswer(world, proxy, queue)
    } finally {
      await proxy.close()
    }
    const rows = await readAll<{ id: string }>(world, `/v1/runs?queue=${queue}`)
    ensure(rows.length === times, `${rows.length} runs for ${times} keys`)
  },
}

async function loseAnswer(world: World, proxy: TcpProxy, queue: string): Promise<void> {
  // The wire is so slow that the row can be seen before its answer arrives.
  proxy.set({ delayMs: 400 })
  const slow = new Api(`http://127.0.0.1:${proxy.port}`, world.stack.apiKey)
  const key = randomUUID()
  const dueAt = new Date(Date.now() + 3_600_000).toISOString()
  const body = { target: { type: 'http', url: world.receiver.url(queue, 'ok') }, queue, dueAt }
  const lost = slow.send('POST', '/v1/runs', body, { 'idempotency-key': key }).then(
    ({ status }) => `answered ${status}`,
    () => 'lost',
  )
  await world.withDatabase((client) =>
    waitFor(
      'the run to be committed',
      async () => {
        const { rowCount } = await client.query('select from idempotency_keys where key = $1', [key])
        return rowCount === 1
      },
      { everyMs: 2 },
    ),
  )
  world.kill('api')
  proxy.reset()
  const outcome = await lost
  await slow.close()
  ensure(outcome === 'lost', `the answer was not lost in time: ${outcome}`)

  await waitFor('the API to come back', async () => (await world.api.send('GET', '/ready')).status === 200)
  const retry = await world.api.send<{ id: string }>('POST', '/v1/runs', body, { 'idempotency-key': key })
  ensure([200, 201].includes(retry.status), `the retry was answered ${retry.status}: ${retry.text}`)
}
