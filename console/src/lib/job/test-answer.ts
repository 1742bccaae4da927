import type { Run, RunResponse } from '@meridian/sdk'
import type { ProblemView } from '#lib/problem.ts'

/** What came of a test request: the run with its answer, as far as it got, or why there is none. */
export type TestAnswer = { run: Run; response: RunResponse | undefined } | { problem: ProblemView }
