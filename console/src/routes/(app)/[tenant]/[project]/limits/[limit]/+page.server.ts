import type { LimitChanges } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { jobNames } from '#lib/server/job-names.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const pageSize = 50

export const load: PageServerLoad = async ({ locals, params, url, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const key = url.searchParams.get('key')
  const cursor = url.searchParams.get('cursor') ?? undefined
  const [limit, usage] = await Promise.all([
    sdk.limits.get(params.limit),
    sdk.limits.usage(params.limit, { limit: pageSize, cursor, ...(key ? { key } : {}) }).page(),
  ])
  const { scope } = limit
  const names = await jobNames(sdk, [scope.type === 'job' ? scope.jobId : null])
  return { limit, usage: usage.data, nextCursor: usage.nextCursor, names }
}

export const actions = {
  change: async ({ locals, params, request }) => {
    const form = await request.formData()
    const changes = jsonOf(form, 'changes') as LimitChanges
    const ifVersion = Number(textOf(form, 'version'))
    return act(async () => {
      const changed = await opened(locals).sdk.limits.update(params.limit, changes, { ifVersion })
      return { version: changed.version }
    })
  },
  pause: async ({ locals, params, request }) => {
    const reason = textOf(await request.formData(), 'reason') || null
    return act(async () => ({ version: (await opened(locals).sdk.limits.pause(params.limit, { reason })).version }))
  },
  resume: async ({ locals, params }) =>
    act(async () => ({ version: (await opened(locals).sdk.limits.resume(params.limit)).version })),
  lift: async ({ locals, params }) => {
    const { tenant, project, sdk } = opened(locals)
    const refused = await act(() => sdk.limits.delete(params.limit))
    if (refused) return refused
    redirect(303, `/${tenant.slug}/${project.slug}/limits`)
  },
} satisfies Actions
