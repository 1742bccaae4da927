import { listAlarms } from '@meridian/core/watch/list'
import { z } from 'zod'
import { needs, operation } from '../http/operation.ts'
import { alarmsToWire, alarmsWire } from '../wire/alarm.ts'

const list = operation({
  id: 'listAlarms',
  method: 'get',
  path: '/v1/alarms',
  tag: 'System',
  summary: 'See what stands still',
  description:
    'What the watchdog found in the project and in the installation: the latest 200. A schedule is set right again by an operation of the kind `jobs.repair`.',
  access: needs('jobs:read'),
  query: z.strictObject({
    all: z
      .stringbool({ truthy: ['true', '1'], falsy: ['false', '0'], error: 'must be true or false' })
      .default(false)
      .meta({ type: 'boolean', description: 'Also what moves again.' }),
  }),
  answer: { status: 200, description: 'The alarms.', schema: alarmsWire },
  handle: async ({ ctx, query }) => alarmsToWire(await listAlarms(ctx, query)),
})

export const alarmOperations = [list]
