import { type Meridian, MeridianProblem, type Schedule } from '@meridian/sdk'
import type { PreviewAnswer } from '#lib/schedule/preview.svelte.ts'
import { opened } from '#lib/server/open.ts'
import type { RequestHandler } from './$types'

const count = 10

/** The next instants of a schedule that is being written; what is wrong with it is an answer too. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const { schedule } = (await request.json()) as { schedule: Schedule }
  return Response.json(await preview(opened(locals).sdk, schedule))
}

async function preview(sdk: Meridian, schedule: Schedule): Promise<PreviewAnswer> {
  try {
    return { preview: await sdk.schedules.preview({ schedule, count }) }
  } catch (error) {
    if (!(error instanceof MeridianProblem) || error.status !== 422) throw error
    const faults = error.errors.length > 0 ? error.errors : [{ pointer: '', detail: error.detail }]
    return { faults: faults.map((fault) => ({ ...fault, pointer: fault.pointer.replace(/^\/schedule/, '') })) }
  }
}
