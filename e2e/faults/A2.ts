import { randomUUID } from 'node:crypto'
import { Api } from '../api.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

export const row: Row = {
  title: 'idempotency keys: another body 422, missing where required 400, too long 400, one space a tenant',
  async run(world) {
    const key = randomUUID()
    const first = await create(world.api, world, 'a', key)
    ensure(first.status === 201, `the first create was ${first.status}: ${first.text}`)
    const other = await create(world.api, world, 'b', key)
    ensure(other.status === 422, `another body with the same key was ${other.status}`)

    const long = await create(world.api, world, 'a', 'k'.repeat(1_000_000)).catch(() => undefined)
    // Node itself refuses such a head before anybody reads it.
    ensure(long === undefined || [400, 431].includes(long.status), `a key of 1 MB was ${long?.status}`)
    const tooLong = await create(world.api, world, 'a', 'k'.repeat(4_000))
    ensure(tooLong.status === 400, `a key of 4,000 characters was ${tooLong.status}`)

    const neighbour = await world.secondTenant()
    const api = new Api(world.api.origin, neighbour.apiKey)
    const independent = await create(api, world, 'b', key)
    ensure(independent.status === 201, `the same key in another tenant was ${independent.status}`)
    ensure(independent.body.id !== first.body.id, 'two tenants share a run')
    await api.close()

    await requiring(world, async () => {
      const answer = await create(world.api, world, 'a')
      ensure(answer.status === 400, `without a required key it was ${answer.status}`)
    })
  },
}

function create(api: Api, world: World, label: string, key?: string) {
  const dueAt = new Date(3_600_000 * Math.ceil(Date.now() / 3_600_000 + 1)).toISOString()
  const body = { target: { type: 'http', url: world.receiver.url(label, 'ok') }, dueAt }
  return api.send<{ id: string }>('POST', '/v1/runs', body, key === undefined ? {} : { 'idempotency-key': key })
}

/** Makes the project require keys while `work` runs. */
async function requiring(world: World, work: () => Promise<void>): Promise<void> {
  const { data } = await world.api.ask<{ data: { id: string; slug: string }[] }>('GET', '/v1/projects')
  const project = data.find(({ slug }) => slug === world.stack.project)
  ensure(project !== undefined, 'the project is not listed')
  await world.api.ask('PATCH', `/v1/projects/${project.id}`, { requiresIdempotencyKey: true })
  try {
    await work()
  } finally {
    await world.api.ask('PATCH', `/v1/projects/${project.id}`, { requiresIdempotencyKey: false })
  }
}
