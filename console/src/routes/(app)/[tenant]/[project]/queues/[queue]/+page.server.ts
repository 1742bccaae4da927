import type { Limit, Meridian, NewLimit, QueueChanges } from '@meridian/sdk'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, params, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const [queue, usage, limits] = await Promise.all([
    sdk.queues.get(params.queue),
    sdk.queues.usage(params.queue),
    limitsOf(sdk, params.queue),
  ])
  return { queue, usage, limits }
}

async function limitsOf(sdk: Meridian, queue: string): Promise<Limit[]> {
  const found: Limit[] = []
  for await (const limit of sdk.limits.list({ limit: 100 }))
    if (limit.scope.type === 'queue' && limit.scope.queue === queue) found.push(limit)
  return found
}

export const actions = {
  change: async ({ locals, params, request }) => {
    const form = await request.formData()
    const changes = jsonOf(form, 'changes') as QueueChanges
    const ifVersion = Number(textOf(form, 'version'))
    return act(async () => {
      const changed = await opened(locals).sdk.queues.update(params.queue, changes, { ifVersion })
      return { version: changed.version }
    })
  },
  create: async ({ locals, request }) => {
    const limit = jsonOf(await request.formData(), 'limit') as NewLimit
    return act(async () => ({ id: (await opened(locals).sdk.limits.create(limit)).id }))
  },
} satisfies Actions
