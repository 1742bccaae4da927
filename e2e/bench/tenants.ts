import { makeTenants } from '../tenants.ts'
import type { Benchmark } from './benchmark.ts'
import { drainMeridian, peerDrain } from './http-runs.ts'
import type { Meridian } from './meridian.ts'

/** All of them have to be looked at for every run, none of them holds one up. */
const concurrency = 100
const rate = { count: 10_000, per: 'PT1S' }

async function createLimitedQueue(meridian: Meridian, name: string): Promise<void> {
  await meridian.createQueue(name, { paused: true, concurrency })
  await meridian.api.ask('POST', '/v1/limits', { name, scope: { type: 'queue', queue: name }, rate })
}

export const tenants: Benchmark = {
  title: 'The drain of http-runs shared out over tenants with a queue each, limited in concurrency and rate',
  contenders: [
    {
      name: 'meridian',
      round: async (lab) => {
        const { home } = await lab.stack()
        const made = await makeTenants(
          home,
          Array.from({ length: lab.profile.tenants }, (_, index) => `bench-${index + 1}`),
        )
        return drainMeridian(lab, lab.profile.runs, {
          apiKeys: made.map(({ apiKey }) => apiKey),
          createQueue: createLimitedQueue,
        })
      },
    },
    peerDrain('graphile-worker'),
  ],
}
