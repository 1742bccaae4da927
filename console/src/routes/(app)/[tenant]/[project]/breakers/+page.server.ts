import type { BreakerSettingsChanges } from '@meridian/sdk'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const pageSize = 100

export const load: PageServerLoad = async ({ locals, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const [breakers, settings] = await Promise.all([
    sdk.breakers.list({ all: true, limit: pageSize }).page(),
    sdk.breakers.settings(),
  ])
  return { breakers: breakers.data, settings }
}

export const actions = {
  open: async ({ locals, request }) => {
    const form = await request.formData()
    const reason = textOf(form, 'reason') || null
    return act(async () => ({
      id: (await opened(locals).sdk.breakers.open({ host: textOf(form, 'host'), reason })).id,
    }))
  },
  close: async ({ locals, request }) => {
    const id = textOf(await request.formData(), 'id')
    return act(async () => ({ closed: (await opened(locals).sdk.breakers.close(id)).host }))
  },
  configure: async ({ locals, request }) => {
    const form = await request.formData()
    const changes = jsonOf(form, 'changes') as BreakerSettingsChanges
    const options = { ifVersion: Number(textOf(form, 'version')) }
    return act(async () => ({ version: (await opened(locals).sdk.breakers.configure(changes, options)).version }))
  },
} satisfies Actions
