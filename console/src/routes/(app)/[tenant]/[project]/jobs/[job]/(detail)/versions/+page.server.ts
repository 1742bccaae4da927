import { act, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, params, url }) => {
  const cursor = url.searchParams.get('cursor') ?? undefined
  const versions = await opened(locals).sdk.jobs.versions(params.job, { limit: 50, cursor }).page()
  return { versions: versions.data, nextCursor: versions.nextCursor }
}

export const actions = {
  restore: async ({ locals, params, request }) => {
    const version = Number(textOf(await request.formData(), 'version'))
    return act(async () => ({ version: (await opened(locals).sdk.jobs.restore(params.job, version)).version }))
  },
} satisfies Actions
