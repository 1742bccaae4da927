/** Takes all steps of a computation at once. */
export function runThrough<Result>(steps: Generator<undefined, Result, undefined>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

const sliceMs = 8

/** Takes the steps a few milliseconds at a time, so that a long computation keeps nobody else of the process waiting. */
export async function runBetween<Result>(steps: Generator<undefined, Result, undefined>): Promise<Result> {
  for (let sliceEndMs = performance.now() + sliceMs; ; ) {
    const { done, value } = steps.next()
    if (done) return value
    if (performance.now() < sliceEndMs) continue
    await new Promise(setImmediate)
    sliceEndMs = performance.now() + sliceMs
  }
}
