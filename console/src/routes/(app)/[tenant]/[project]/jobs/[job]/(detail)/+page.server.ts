import type { RunJob } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { act, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions } from './$types'

export const actions = {
  pause: async ({ locals, params, request }) => {
    const form = await request.formData()
    const pause = { reason: textOf(form, 'reason') || null, until: textOf(form, 'until') || null }
    return act(async () => ({ version: (await opened(locals).sdk.jobs.pause(params.job, pause)).version }))
  },
  resume: async ({ locals, params }) =>
    act(async () => ({ version: (await opened(locals).sdk.jobs.resume(params.job)).version })),
  archive: async ({ locals, params }) =>
    act(async () => ({ version: (await opened(locals).sdk.jobs.archive(params.job)).version })),
  unarchive: async ({ locals, params }) =>
    act(async () => ({ version: (await opened(locals).sdk.jobs.unarchive(params.job)).version })),
  run: async ({ locals, params, request }) => {
    const { tenant, project, sdk } = opened(locals)
    const form = await request.formData()
    const overlap = textOf(form, 'overlap') as RunJob['overlap'] | ''
    const run = await act(() =>
      sdk.jobs.run(params.job, {
        ...(form.has('body') ? { body: JSON.parse(textOf(form, 'body')) as unknown } : {}),
        ...(overlap ? { overlap } : {}),
      }),
    )
    if (!('id' in run)) return run
    redirect(303, `/${tenant.slug}/${project.slug}/runs/${run.id}`)
  },
} satisfies Actions
