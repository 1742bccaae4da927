import type { NewLimit } from '@meridian/sdk'
import { act, jsonOf } from '#lib/server/act.ts'
import { jobNames } from '#lib/server/job-names.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const pageSize = 50
// To choose from in the form.
const choicesMax = 100

export const load: PageServerLoad = async ({ locals, url }) => {
  const { sdk } = opened(locals)
  const cursor = url.searchParams.get('cursor') ?? undefined
  const [page, queues, jobs] = await Promise.all([
    sdk.limits.list({ limit: pageSize, cursor }).page(),
    sdk.queues.list({ limit: choicesMax }).page(),
    sdk.jobs.list({ limit: choicesMax }).page(),
  ])
  return {
    limits: page.data,
    nextCursor: page.nextCursor,
    queues: queues.data.map(({ name }) => name),
    jobs: jobs.data.map(({ id, name }) => ({ id, name })),
    names: await jobNames(
      sdk,
      page.data.map(({ scope }) => (scope.type === 'job' ? scope.jobId : null)),
    ),
  }
}

export const actions = {
  create: async ({ locals, request }) => {
    const limit = jsonOf(await request.formData(), 'limit') as NewLimit
    return act(async () => ({ id: (await opened(locals).sdk.limits.create(limit)).id }))
  },
} satisfies Actions
