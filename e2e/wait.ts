/** Resolves after `ms` milliseconds. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/**
 * Asks again until the answer is neither `undefined` nor `false`, and returns it.
 * Throws after `timeoutMs`, naming `what` was awaited and the last error met on the way.
 */
export async function waitFor<Answer>(
  what: string,
  ask: () => Promise<Answer | undefined | false> | Answer | undefined | false,
  { timeoutMs = 30_000, everyMs = 50 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<Answer> {
  const deadline = performance.now() + timeoutMs
  let lastError: unknown
  for (;;) {
    try {
      const answer = await ask()
      if (answer !== undefined && answer !== false) return answer
    } catch (error) {
      lastError = error
    }
    if (performance.now() > deadline) {
      throw new Error(`waited ${timeoutMs} ms in vain for ${what}`, { cause: lastError })
    }
    await sleep(everyMs)
  }
}
