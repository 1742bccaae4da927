import type { NewQueue } from '@meridian/sdk'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const pageSize = 50

export const load: PageServerLoad = async ({ locals, url, depends }) => {
  depends('meridian:runs')
  const cursor = url.searchParams.get('cursor') ?? undefined
  const page = await opened(locals).sdk.queues.list({ limit: pageSize, cursor }).page()
  return { queues: page.data, nextCursor: page.nextCursor }
}

export const actions = {
  create: async ({ locals, request }) => {
    const queue = jsonOf(await request.formData(), 'queue') as NewQueue
    return act(async () => ({ name: (await opened(locals).sdk.queues.create(queue)).name }))
  },
  pause: async ({ locals, request }) => {
    const form = await request.formData()
    const reason = textOf(form, 'reason') || null
    return act(async () => ({ name: (await opened(locals).sdk.queues.pause(textOf(form, 'name'), { reason })).name }))
  },
  resume: async ({ locals, request }) => {
    const name = textOf(await request.formData(), 'name')
    return act(async () => ({ name: (await opened(locals).sdk.queues.resume(name)).name }))
  },
} satisfies Actions
