import { redirect } from '@sveltejs/kit'
import { isOpen } from '#lib/draw/outcome.ts'
import { act, textOf } from '#lib/server/act.ts'
import { ApiProblem, toView } from '#lib/server/api.ts'
import { opened } from '#lib/server/open.ts'
import type { Tab } from '#lib/run/tab.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, params, depends }) => {
  const { api } = opened(locals)
  const [run, attempts] = await Promise.all([api.getRun(params.run), api.listAttempts(params.run)])
  // Final is final: only an open run is worth asking about again.
  if (isOpen(run.status)) depends('meridian:runs')
  const [jobName, queue] = await Promise.all([
    run.jobId === null ? undefined : absent(api.getJob(run.jobId).then((job) => job.name)),
    isOpen(run.status) ? absent(api.getQueue(run.queue)) : undefined,
  ])
  return {
    run,
    attempts: attempts.data,
    jobName,
    queue,
    // What the tabs show comes after the page: it can be large, and a viewer may not see it at all.
    request: tab(api.getRequest(run.id)),
    response: tab(api.getResponse(run.id)),
    logs: tab(api.listLogs(run.id, { limit: 200 })),
    events: tab(api.listEvents(run.id)),
  }
}

async function tab<Value>(asked: Promise<Value>): Promise<Tab<Value>> {
  try {
    return { value: await asked }
  } catch (error) {
    if (!(error instanceof ApiProblem)) return { problem: { title: 'No answer', detail: 'The API did not answer.', requestId: undefined, errors: [] } }
    return error.status === 404 ? { missing: true } : { problem: toView(error) }
  }
}

async function absent<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return undefined
    throw error
  }
}

export const actions = {
  cancel: async ({ locals, params }) => act(async () => ({ status: (await opened(locals).api.cancelRun(params.run)).status })),
  replay: async ({ locals, params, request, url }) => {
    const { tenant, project, api } = opened(locals)
    const form = await request.formData()
    const run = await act(() => api.replayRun(params.run, form.has('body') ? { body: bodyOf(textOf(form, 'body')) } : {}))
    if (!('id' in run)) return run
    const query = new URLSearchParams(url.search)
    query.delete('/replay')
    const rest = query.size > 0 ? `?${query}` : ''
    redirect(303, `/${tenant.slug}/${project.slug}/runs/${run.id}${rest}`)
  },
} satisfies Actions

/** An edited body: JSON when it reads as JSON, text otherwise, none when it was emptied. */
function bodyOf(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
