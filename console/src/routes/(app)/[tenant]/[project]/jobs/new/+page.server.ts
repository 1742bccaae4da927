import { redirect } from '@sveltejs/kit'
import { act, jsonOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { JobDefinition } from '#lib/wire.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals }) => {
  const queues = await opened(locals).api.listQueues({ limit: 100 })
  return { queues: queues.data.map(({ name }) => name) }
}

export const actions = {
  default: async ({ locals, request }) => {
    const { tenant, project, api } = opened(locals)
    const definition = jsonOf(await request.formData(), 'definition') as JobDefinition
    const job = await act(() => api.createJob(definition))
    if (!('id' in job)) return job
    redirect(303, `/${tenant.slug}/${project.slug}/jobs/${job.id}`)
  },
} satisfies Actions
