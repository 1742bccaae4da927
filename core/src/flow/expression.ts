import { Expressions } from './cel.ts'

/** What an expression may look at: a run as it is accepted. What takes work is worked out when it is looked at. */
export interface RunFacts {
  /** The body as JSON; a string where it is none. */
  body: unknown
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  tags: readonly string[]
  method: string
  url: string
  host: string
  queue: string
  /** Empty for a run without a job. */
  job: string
  priority: bigint
}

const keyMax = 256
export const costMax = 1_000

const expressions = new Expressions<RunFacts>({
  body: 'dyn',
  headers: 'map<string, string>',
  tags: 'list<string>',
  method: 'string',
  url: 'string',
  host: 'string',
  queue: 'string',
  job: 'string',
  priority: 'int',
})

/** What is wrong with an expression, as a sentence; null when nothing is. */
export const expressionProblem = (expression: string): string | null => expressions.problem(expression)

/**
 * The value that a key expression has for a run. One that can't be told, since the run lacks what it asks for, is the
 * empty key: all such runs share it.
 */
export function keyOf(expression: string, facts: RunFacts): string {
  const value = expressions.evaluate(expression, facts)
  const isPlain = ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
  return isPlain ? String(value).replaceAll('\u0000', '').slice(0, keyMax) : ''
}

/** The units that a run takes, 1 to 1,000: 1 where it can't be told. */
export function costOf(expression: string, facts: RunFacts): number {
  const value = Number(expressions.evaluate(expression, facts) ?? 1)
  return Number.isNaN(value) ? 1 : Math.min(costMax, Math.max(1, Math.ceil(value)))
}
