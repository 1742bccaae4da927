import { redirect } from '@sveltejs/kit'
import { act } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions } from './$types'

export const actions = {
  delete: async ({ locals, params }) => {
    const { tenant, project, sdk } = opened(locals)
    const refused = await act(() => sdk.jobs.delete(params.job))
    if (refused) return refused
    redirect(303, `/${tenant.slug}/${project.slug}/jobs`)
  },
} satisfies Actions
