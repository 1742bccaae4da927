import type { NewJob } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { formChoices } from '#lib/server/form-choices.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, params }) => {
  const { sdk } = opened(locals)
  const [job, choices] = await Promise.all([sdk.jobs.get(params.job), formChoices(sdk)])
  return { job, ...choices }
}

export const actions = {
  default: async ({ locals, params, request }) => {
    const { tenant, project, sdk } = opened(locals)
    const form = await request.formData()
    const { target, ...open } = jsonOf(form, 'definition') as NewJob
    const job = await act(async () => {
      const before = await sdk.jobs.get(params.job)
      const changes = before.isTargetReduced ? open : { ...open, target }
      return sdk.jobs.update(params.job, changes, { ifVersion: Number(textOf(form, 'version')) })
    })
    if (!('id' in job)) return job
    redirect(303, `/${tenant.slug}/${project.slug}/jobs/${job.id}`)
  },
} satisfies Actions
