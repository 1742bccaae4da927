import { MeridianProblem } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { isOpen } from '#lib/draw/outcome.ts'
import type { Tab } from '#lib/run/tab.ts'
import { isWaiting } from '#lib/run/why.ts'
import { act, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import { toView } from '#lib/server/sdk.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, params, depends }) => {
  const { sdk } = opened(locals)
  const [run, attempts] = await Promise.all([sdk.runs.get(params.run), sdk.runs.attempts(params.run)])
  // Final is final: only an open run is worth asking about again.
  if (isOpen(run.status)) depends('meridian:runs')
  const isTold = !isOpen(run.status) && run.source !== 'callback'
  const [jobName, why, callbacks] = await Promise.all([
    run.jobId === null ? undefined : absent(sdk.jobs.get(run.jobId).then((job) => job.name)),
    isWaiting(run.status) ? absent(sdk.runs.why(params.run)) : undefined,
    isTold ? sdk.runs.list({ callbackOf: run.id, limit: 1 }).page() : undefined,
  ])
  return {
    run,
    attempts,
    jobName,
    why,
    callback: callbacks?.data[0],
    // What the tabs show comes after the page: it can be large, and a viewer may not see it at all.
    request: tab(sdk.runs.request(run.id)),
    response: tab(sdk.runs.response(run.id)),
    logs: tab(sdk.runs.logs(run.id, { limit: 200 }).page()),
    events: tab(sdk.runs.events(run.id)),
  }
}

async function tab<Value>(asked: Promise<Value>): Promise<Tab<Value>> {
  try {
    return { value: await asked }
  } catch (error) {
    if (!(error instanceof MeridianProblem))
      return { problem: { title: 'No answer', detail: 'The API did not answer.', requestId: undefined, errors: [] } }
    return error.status === 404 ? { missing: true } : { problem: toView(error) }
  }
}

async function absent<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof MeridianProblem && error.status === 404) return undefined
    throw error
  }
}

export const actions = {
  cancel: async ({ locals, params }) =>
    act(async () => ({ status: (await opened(locals).sdk.runs.cancel(params.run)).status })),
  replay: async ({ locals, params, request, url }) => {
    const { tenant, project, sdk } = opened(locals)
    const form = await request.formData()
    const run = await act(() =>
      sdk.runs.replay(params.run, form.has('body') ? { body: bodyOf(textOf(form, 'body')) } : {}),
    )
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
