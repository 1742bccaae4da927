import type { Api } from '../api.ts'

export interface HerdPlan {
  count: number
  url: string
  /** Of the jobs, and of their queue. */
  name: string
  /** What else a schedule says. */
  more?: (index: number) => Record<string, unknown>
}

/** Jobs that are all due at the same second. */
export interface Herd {
  /** Their one instant. */
  atMs: number
  remove(): Promise<void>
}

const creatorsAtOnce = 16
/** Time that the slowest machine takes to make one, and to come to rest afterwards. */
const eachMs = 12
const restMs = 6_000

/** Makes jobs whose one instant is the same whole second, soon after all of them are there. */
export async function makeHerd(api: Api, { count, url, name, more = () => ({}) }: HerdPlan): Promise<Herd> {
  const atMs = Math.ceil((Date.now() + restMs + count * eachMs) / 1_000) * 1_000
  const ids: string[] = []
  let next = 0
  const make = async () => {
    for (let index = next++; index < count; index = next++) {
      const { id } = await api.ask<{ id: string }>('POST', '/v1/jobs', {
        name: `${name} ${index}`,
        target: { type: 'http', url },
        queue: name,
        retry: { limit: 0 },
        schedule: { type: 'every', every: 'PT1H', anchor: new Date(atMs).toISOString(), ...more(index) },
      })
      ids.push(id)
    }
  }
  await Promise.all(Array.from({ length: creatorsAtOnce }, make))
  if (Date.now() > atMs - restMs / 2) throw new Error('the jobs were not made in time')
  return {
    atMs,
    remove: async () => {
      await Promise.all(
        Array.from({ length: creatorsAtOnce }, async () => {
          for (let id = ids.pop(); id !== undefined; id = ids.pop()) await api.send('DELETE', `/v1/jobs/${id}`)
        }),
      )
    },
  }
}
