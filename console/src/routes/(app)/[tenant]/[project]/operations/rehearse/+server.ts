import { type Meridian, MeridianProblem, type NewOperation } from '@meridian/sdk'
import type { RehearsalAnswer } from '#lib/operation/rehearsal.svelte.ts'
import { opened } from '#lib/server/open.ts'
import { toView } from '#lib/server/sdk.ts'
import type { RequestHandler } from './$types'

/** What an operation would do, while it is being put together. Nothing is written. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const { operation } = (await request.json()) as { operation: NewOperation }
  return Response.json(await rehearse(opened(locals).sdk, operation))
}

async function rehearse(sdk: Meridian, operation: NewOperation): Promise<RehearsalAnswer> {
  try {
    return { planned: await sdk.operations.rehearse(operation) }
  } catch (error) {
    if (error instanceof MeridianProblem && error.status < 500) return { problem: toView(error) }
    throw error
  }
}
