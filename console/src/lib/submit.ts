import type { ProblemView } from '#lib/problem.ts'
import { toasts } from '#lib/toast.svelte.ts'
import { deserialize } from '$app/forms'
import { goto, refreshAll } from '$app/navigation'

type Fields = Record<string, string | readonly string[]>

/**
 * Sends a form action from a menu or a notice, where no form stands. Follows a redirect, refreshes the page on
 * success, and says what went wrong otherwise, or hands it to who asked. Resolves to whether it worked, with what the
 * action returned.
 */
export async function submit(
  action: string,
  fields: Fields = {},
  onrefused?: (problem: ProblemView) => void,
): Promise<Record<string, unknown> | undefined> {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    for (const each of typeof value === 'string' ? [value] : value) body.append(name, each)
  }
  try {
    const response = await fetch(action, {
      method: 'POST',
      body,
      headers: { 'x-sveltekit-action': 'true', accept: 'application/json' },
    })
    const result = deserialize<Record<string, unknown>, { problem?: ProblemView }>(await response.text())
    if (result.type === 'success') {
      await refreshAll()
      return result.data ?? {}
    }
    if (result.type === 'redirect') {
      await goto(result.location, { refreshAll: true })
      return {}
    }
    const problem = result.type === 'failure' ? result.data?.problem : undefined
    if (problem && onrefused) onrefused(problem)
    else toasts.fail(result.type === 'failure' ? problemText(result.data?.problem) : result.error.message)
  } catch {
    toasts.fail('The console did not answer. Nothing was changed as far as is known; look again in a moment.')
  }
  return undefined
}

/** A problem in one line. */
const problemText = (problem: ProblemView | undefined): string =>
  problem ? [problem.title, problem.detail].filter(Boolean).join('. ') : 'It was refused.'
