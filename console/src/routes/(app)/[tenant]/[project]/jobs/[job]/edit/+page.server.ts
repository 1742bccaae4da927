import { redirect } from '@sveltejs/kit'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { JobDefinition } from '#lib/wire.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, params }) => {
  const { api } = opened(locals)
  const [job, queues] = await Promise.all([api.getJob(params.job), api.listQueues({ limit: 100 })])
  return { job, queues: queues.data.map(({ name }) => name) }
}

export const actions = {
  default: async ({ locals, params, request }) => {
    const { tenant, project, api } = opened(locals)
    const form = await request.formData()
    const { target, ...open } = jsonOf(form, 'definition') as JobDefinition
    const job = await act(async () => {
      const before = await api.getJob(params.job)
      const changes = before.isTargetReduced ? open : { ...open, target }
      return api.updateJob(params.job, changes, Number(textOf(form, 'version')))
    })
    if (!('id' in job)) return job
    redirect(303, `/${tenant.slug}/${project.slug}/jobs/${job.id}`)
  },
} satisfies Actions
