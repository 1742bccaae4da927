import { type Meridian, MeridianProblem, type RunResponse, type TargetInput } from '@meridian/sdk'
import { isOpen } from '#lib/draw/outcome.ts'
import type { TestAnswer } from '#lib/job/test-answer.ts'
import { opened } from '#lib/server/open.ts'
import { toView } from '#lib/server/sdk.ts'
import type { RequestHandler } from './$types'

const patienceMilliseconds = 12_000
const lookMilliseconds = 150

/** Calls a target once and waits a while for the answer. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const { target } = (await request.json()) as { target: TargetInput }
  return Response.json(await test(opened(locals).sdk, target))
}

async function test(sdk: Meridian, target: TargetInput): Promise<TestAnswer> {
  try {
    let run = await sdk.targets.test(target)
    const until = Date.now() + patienceMilliseconds
    while (isOpen(run.status) && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, lookMilliseconds))
      run = await sdk.runs.get(run.id)
    }
    return { run, response: isOpen(run.status) ? undefined : await answerOf(sdk, run.id) }
  } catch (error) {
    if (error instanceof MeridianProblem && error.status < 500) return { problem: toView(error) }
    throw error
  }
}

async function answerOf(sdk: Meridian, id: string): Promise<RunResponse | undefined> {
  try {
    return await sdk.runs.response(id)
  } catch (error) {
    // No answer came, or this person may not read it.
    if (error instanceof MeridianProblem && (error.status === 404 || error.status === 403)) return undefined
    throw error
  }
}
