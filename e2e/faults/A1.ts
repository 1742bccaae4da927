import { randomUUID } from 'node:crypto'
import { readAll } from './evidence.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

export const row: Row = {
  title: 'a hundred creates with one key at once make one run',
  async run(world) {
    const queue = `same-key-${randomUUID()}`
    const rounds = world.profile.pick(10, 100)
    const ids = new Set<string>()
    for (let round = 0; round < rounds; round += 1) ids.add(await hundredCreates(world, queue))
    const rows = await readAll<{ id: string }>(world, `/v1/runs?queue=${queue}`)
    ensure(rows.length === rounds && ids.size === rounds, `${rows.length} runs of ${ids.size} ids for ${rounds} keys`)
  },
}

async function hundredCreates(world: World, queue: string): Promise<string> {
  const key = randomUUID()
  const dueAt = new Date(Date.now() + 3_600_000).toISOString()
  const body = { target: { type: 'http', url: world.receiver.url(queue, 'ok') }, queue, dueAt }
  const answers = await Promise.all(
    Array.from({ length: 100 }, () =>
      world.api.send<{ id: string }>('POST', '/v1/runs', body, { 'idempotency-key': key }),
    ),
  )
  const odd = answers.find(({ status }) => ![200, 201, 409].includes(status))
  ensure(odd === undefined, `an answer was ${odd?.status}: ${odd?.text}`)
  const created = answers.filter(({ status }) => status !== 409)
  const ids = new Set(created.map(({ body: { id } }) => id))
  ensure(ids.size === 1, `the answers name ${ids.size} runs`)
  // A late retry gets the same body, byte for byte.
  const bodies = new Set(created.map(({ text }) => text))
  ensure(bodies.size === 1, 'the answers differ')
  return [...ids][0] ?? ''
}
