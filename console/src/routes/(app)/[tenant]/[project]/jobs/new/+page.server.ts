import type { NewJob } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { act, jsonOf } from '#lib/server/act.ts'
import { formChoices } from '#lib/server/form-choices.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals }) => {
  return formChoices(opened(locals).sdk)
}

export const actions = {
  default: async ({ locals, request }) => {
    const { tenant, project, sdk } = opened(locals)
    const definition = jsonOf(await request.formData(), 'definition') as NewJob
    const job = await act(() => sdk.jobs.create(definition))
    if (!('id' in job)) return job
    redirect(303, `/${tenant.slug}/${project.slug}/jobs/${job.id}`)
  },
} satisfies Actions
