import type { Limit, Meridian, NewLimit, QueueChanges } from '@meridian/sdk'
import { fullWords } from '#lib/flow/words.ts'
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
  return { queue, usage, limits, full: await fullOf(sdk, limits) }
}

/** The limits that let no further run wait, with what becomes of the next one. */
async function fullOf(sdk: Meridian, limits: readonly Limit[]) {
  // What is counted apart for each value of a key is told on the page of the limit.
  const whole = limits.filter(({ backlog, key }) => backlog !== null && key === null).slice(0, 10)
  const found = await Promise.all(
    whole.map(async (limit) => {
      const [usage] = (await sdk.limits.usage(limit.id, { limit: 1 }).page()).data
      const next = usage && fullWords(limit, usage)
      return next === undefined ? [] : [{ id: limit.id, name: limit.name, max: limit.backlog?.max ?? 0, next }]
    }),
  )
  return found.flat()
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
