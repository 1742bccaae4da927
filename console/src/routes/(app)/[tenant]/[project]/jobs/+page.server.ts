import type { Meridian } from '@meridian/sdk'
import { isJobState } from '#lib/job/state.ts'
import { act, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const pageSize = 50

export const load: PageServerLoad = async ({ locals, url, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const params = url.searchParams
  const state = params.get('state')
  const [jobs, queues] = await Promise.all([
    sdk.jobs
      .list({
        limit: pageSize,
        include: ['recent'],
        search: params.get('q') || undefined,
        state: isJobState(state) ? state : undefined,
        tag: params.get('tag') ?? undefined,
        queue: params.get('queue') ?? undefined,
        cursor: params.get('cursor') ?? undefined,
      })
      .page(),
    sdk.queues.list({ limit: 100 }).page(),
  ])
  return { jobs: jobs.data, nextCursor: jobs.nextCursor, queues: queues.data.map(({ name }) => name) }
}

/** Does the same to every chosen job; stops at the first that is refused, so that the message is about that one. */
function forEach(work: (sdk: Meridian, id: string, form: FormData) => Promise<unknown>) {
  return async ({ locals, request }: Parameters<Actions[string]>[0]) => {
    const { sdk } = opened(locals)
    const form = await request.formData()
    const ids = form.getAll('id').filter((id) => typeof id === 'string')
    return act(async () => {
      for (const id of ids) await work(sdk, id, form)
      return { count: ids.length }
    })
  }
}

export const actions = {
  pause: forEach((sdk, id, form) =>
    sdk.jobs.pause(id, { reason: textOf(form, 'reason') || null, until: textOf(form, 'until') || null }),
  ),
  resume: forEach((sdk, id) => sdk.jobs.resume(id)),
  archive: forEach((sdk, id) => sdk.jobs.archive(id)),
  unarchive: forEach((sdk, id) => sdk.jobs.unarchive(id)),
  run: forEach((sdk, id) => sdk.jobs.run(id)),
} satisfies Actions
