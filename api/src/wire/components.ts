import { scopes } from '@meridian/core/access/scope'
import { retryPolicyValue } from '@meridian/core/run/retry-policy'
import { httpTargetValue } from '@meridian/core/run/target'
import { fullScheduleSchema } from '@meridian/core/schedule/full-schedule'
import { z } from 'zod'

/** Gives a value schema of core its name in the document. */
const name = <Schema extends z.ZodType>(
  schema: Schema,
  meta: { id: string; description: string; examples?: unknown[] },
): Schema => {
  z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), ...meta })
  return schema
}

export const schedule = name(fullScheduleSchema, {
  id: 'Schedule',
  description: 'When a job runs.',
  examples: [{ type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' }],
})

export const target = name(httpTargetValue, {
  id: 'Target',
  description: 'What a run calls.',
  examples: [
    {
      type: 'http',
      url: 'https://example.com/hooks/nightly',
      method: 'POST',
      headers: {},
      body: { hello: 'world' },
      timeout: 'PT30S',
    },
  ],
})

export const retryPolicy = name(retryPolicyValue, {
  id: 'RetryPolicy',
  description:
    'How a failed attempt is tried again: by default after `delay`, multiplied by `factor` each time, at most `maxDelay`.',
  examples: [{ limit: 5, delay: 'PT1S', factor: 2, maxDelay: 'PT1M', jitter: 0.2 }],
})

export const scope = z.enum(scopes).meta({ id: 'Scope', description: 'What a credential may do.' })
