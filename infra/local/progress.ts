/** Tells the person at the terminal what happens, on stderr, so that stdout stays for results. */
export const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

const noticeAfterMs = 1_000

/** Runs a step; when it takes longer than a second, says that it is running and, at its end, how long it took. */
export async function step<T>(label: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  let told = false
  const notice = setTimeout(() => {
    told = true
    say(`  ${label} ...`)
  }, noticeAfterMs)
  try {
    const result = await work()
    if (told) say(`  ${label}: done in ${seconds(startedAt)}`)
    return result
  } finally {
    clearTimeout(notice)
  }
}

/** The time since an instant of `performance.now()`, as `1.4 s`. */
export const seconds = (sinceMs: number): string => `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`

/** An expected failure whose message is all that the person needs: no stack is printed. */
export class Refusal extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Refusal'
  }
}
