import { MeridianProblem } from '@meridian/sdk'
import type { Answered } from '#lib/asked.svelte.ts'
import { toView } from './sdk.ts'

/** Answers about something that is still being written; what the API has against it is an answer, too. */
export async function answer<Answer>(work: () => Promise<Answer>): Promise<Response> {
  return Response.json(await answered(work))
}

async function answered<Answer>(work: () => Promise<Answer>): Promise<Answered<Answer>> {
  try {
    return { answer: await work() }
  } catch (error) {
    if (error instanceof MeridianProblem && error.status < 500) return { problem: toView(error) }
    throw error
  }
}
