import { MeridianProblem, type NewImport } from '@meridian/sdk'
import type { PlanAnswer } from '#lib/import/plan.svelte.ts'
import { opened } from '#lib/server/open.ts'
import { toView } from '#lib/server/sdk.ts'
import type { RequestHandler } from './$types'

/** What a source would become, while it is being written; what is wrong with the request is an answer too. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const input = (await request.json()) as NewImport
  let answer: PlanAnswer
  try {
    answer = { plan: await opened(locals).sdk.imports.rehearse(input) }
  } catch (error) {
    if (!(error instanceof MeridianProblem) || error.status >= 500) throw error
    answer = { problem: toView(error) }
  }
  return Response.json(answer)
}
