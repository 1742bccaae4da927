import { ApiProblem } from '#lib/server/api.ts'
import { opened } from '#lib/server/open.ts'
import type { PreviewAnswer } from '#lib/schedule/preview.svelte.ts'
import type { RequestHandler } from './$types'

const count = 10

/** The next instants of a schedule that is being written; what is wrong with it is an answer too. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const { schedule } = (await request.json()) as { schedule: unknown }
  return Response.json(await preview(opened(locals).api, schedule))
}

async function preview(api: ReturnType<typeof opened>['api'], schedule: unknown): Promise<PreviewAnswer> {
  try {
    return { preview: await api.preview({ schedule, count }) }
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== 422) throw error
    const faults = error.body.errors ?? [{ pointer: '', detail: error.body.detail }]
    return { faults: faults.map((fault) => ({ ...fault, pointer: fault.pointer.replace(/^\/schedule/, '') })) }
  }
}
