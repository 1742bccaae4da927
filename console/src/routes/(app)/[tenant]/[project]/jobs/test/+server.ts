import { isOpen } from '#lib/draw/outcome.ts'
import type { TestAnswer } from '#lib/job/test-answer.ts'
import { type Api, ApiProblem, toView } from '#lib/server/api.ts'
import { opened } from '#lib/server/open.ts'
import type { HttpTarget, RunResponse } from '#lib/wire.ts'
import type { RequestHandler } from './$types'

const patienceMilliseconds = 12_000
const lookMilliseconds = 150

/** Calls a target once and waits a while for the answer. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const { target } = (await request.json()) as { target: HttpTarget }
  return Response.json(await test(opened(locals).api, target))
}

async function test(api: Api, target: HttpTarget): Promise<TestAnswer> {
  try {
    let run = await api.testTarget(target)
    const until = Date.now() + patienceMilliseconds
    while (isOpen(run.status) && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, lookMilliseconds))
      run = await api.getRun(run.id)
    }
    return { run, response: isOpen(run.status) ? undefined : await answerOf(api, run.id) }
  } catch (error) {
    if (error instanceof ApiProblem && error.status < 500) return { problem: toView(error) }
    throw error
  }
}

async function answerOf(api: Api, id: string): Promise<RunResponse | undefined> {
  try {
    return await api.getResponse(id)
  } catch (error) {
    // No answer came, or this person may not read it.
    if (error instanceof ApiProblem && (error.status === 404 || error.status === 403)) return undefined
    throw error
  }
}
