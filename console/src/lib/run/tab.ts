import type { ProblemView } from '#lib/problem.ts'

/** What a tab of a run shows, or why it shows nothing. */
export type Tab<Value> = { value: Value } | { missing: true } | { problem: ProblemView }
