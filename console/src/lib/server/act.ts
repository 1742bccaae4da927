import { MeridianProblem } from '@meridian/sdk'
import { type ActionFailure, fail } from '@sveltejs/kit'
import type { ProblemView } from '#lib/problem.ts'
import { toView } from './sdk.ts'

/**
 * Runs what a form asks for. What the API refuses comes back to the form as a problem to show; a failure of the API
 * itself is an error page like any other.
 */
export async function act<Result>(
  work: () => Promise<Result>,
): Promise<Result | ActionFailure<{ problem: ProblemView }>> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MeridianProblem && error.status < 500) return fail(error.status, { problem: toView(error) })
    throw error
  }
}

/** A text field of a form, without the white space around it; empty when it is missing. */
export function textOf(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value.trim() : ''
}

/** The JSON in a text field; undefined when it is empty. Throws a `SyntaxError` for anything else. */
export function jsonOf(form: FormData, name: string): unknown {
  const text = textOf(form, name)
  return text === '' ? undefined : (JSON.parse(text) as unknown)
}
