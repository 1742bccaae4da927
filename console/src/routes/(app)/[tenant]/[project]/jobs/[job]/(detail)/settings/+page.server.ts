import { redirect } from '@sveltejs/kit'
import { act, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, params }) => ({
  pings: (await opened(locals).sdk.pings.list(params.job, { limit: 10 }).page()).data,
})

export const actions = {
  mode: async ({ locals, params, request }) => {
    const mode = textOf(await request.formData(), 'mode') === 'live' ? 'live' : 'shadow'
    return act(async () => ({ mode: (await opened(locals).sdk.jobs.setMode(params.job, mode)).mode }))
  },
  ping: async ({ locals, params, request }) => {
    const rotate = textOf(await request.formData(), 'rotate') === 'yes'
    return act(async () => ({ url: (await opened(locals).sdk.pings.url(params.job, { rotate })).url }))
  },
  delete: async ({ locals, params }) => {
    const { tenant, project, sdk } = opened(locals)
    const refused = await act(() => sdk.jobs.delete(params.job))
    if (refused) return refused
    redirect(303, `/${tenant.slug}/${project.slug}/jobs`)
  },
} satisfies Actions
