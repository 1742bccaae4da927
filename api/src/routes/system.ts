import { readFileSync } from 'node:fs'
import { runNamed, toAppError } from '@meridian/core/db/client'
import { nativeZones } from '@meridian/core/schedule/zone'
import { z } from 'zod'
import type { Services } from '../http/env.ts'
import { anybody, operation, signedIn } from '../http/operation.ts'
import { HttpError } from '../http/problems.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

const health = operation({
  id: 'getHealth',
  method: 'get',
  path: '/health',
  tag: 'System',
  summary: 'See whether this process lives',
  access: anybody,
  answer: { status: 200, description: 'It does.', schema: z.strictObject({ status: z.literal('ok') }) },
  handle: async () => ({ status: 'ok' as const }),
})

const ready = operation({
  id: 'getReady',
  method: 'get',
  path: '/ready',
  tag: 'System',
  summary: 'See whether this process can do its work',
  description: 'Without Redis it can, only less promptly: then it is degraded.',
  access: anybody,
  answer: {
    status: 200,
    description: 'It can.',
    schema: z.strictObject({
      status: z.enum(['ready', 'degraded']),
      database: z.boolean(),
      redis: z.boolean(),
      tzVersion: z.string().meta({ description: 'Of the time zone data that schedules are computed with.' }),
    }),
  },
  problems: ['dependency-unavailable'],
  async handle({ services }) {
    if (services.isStopping()) throw new HttpError('dependency-unavailable', 'This process is stopping.')
    await runNamed(services.pool, 'ping', 'select 1', []).catch((error: unknown) => {
      throw toAppError(error)
    })
    const redis = await isRedisWell(services)
    return {
      status: redis ? ('ready' as const) : ('degraded' as const),
      database: true,
      redis,
      tzVersion: nativeZones.version,
    }
  },
})

/** A full Redis still answers, so it is asked to write. */
async function isRedisWell({ redis }: Services): Promise<boolean> {
  if (redis.status !== 'ready') return false
  try {
    await redis.set('meridian:ready', '1', 'EX', 60)
    return true
  } catch {
    return false
  }
}

const info = operation({
  id: 'getSystem',
  method: 'get',
  path: '/v1/system',
  tag: 'System',
  summary: 'See what runs here',
  access: signedIn,
  answer: {
    status: 200,
    description: 'Versions.',
    schema: z
      .strictObject({
        version: z.string(),
        tzVersion: z.string().meta({ description: 'Of the time zone data that schedules are computed with.' }),
        allowsPrivateTargets: z.boolean(),
      })
      .meta({ id: 'System' }),
  },
  handle: async ({ services }) => ({
    version,
    tzVersion: nativeZones.version,
    allowsPrivateTargets: services.config.allowPrivateTargets,
  }),
})

export const systemOperations = [health, ready, info]
