import { type ASTNode, Environment, type ParseResult } from '@marcbachmann/cel-js'
import { LRUCache } from 'lru-cache'

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

export const expressionMax = 500
const keyMax = 256
export const costMax = 1_000

// Structure is bounded here, and loops are closed below: then an expression costs what reading it costs.
const environment = new Environment({
  enableOptionalTypes: true,
  limits: { maxAstNodes: 100, maxDepth: 20, maxListElements: 20, maxMapEntries: 20, maxCallArguments: 4 },
})
  .registerVariable('body', 'dyn')
  .registerVariable('headers', 'map<string, string>')
  .registerVariable('tags', 'list<string>')
  .registerVariable('method', 'string')
  .registerVariable('url', 'string')
  .registerVariable('host', 'string')
  .registerVariable('queue', 'string')
  .registerVariable('job', 'string')
  .registerVariable('priority', 'int')

const open = new Set([
  ...[
    'has',
    'size',
    'string',
    'int',
    'double',
    'bool',
    'startsWith',
    'endsWith',
    'contains',
    'lowerAscii',
    'upperAscii',
  ],
  ...['trim', 'indexOf', 'substring', 'orValue', 'or', 'hasValue', 'value'],
])

/** What is wrong with an expression, as a sentence; null when nothing is. */
export function expressionProblem(expression: string): string | null {
  if (expression.length > expressionMax) return `must be at most ${expressionMax} characters`
  try {
    const parsed = environment.parse(expression)
    const closed = calledIn(parsed.ast).find((name) => !open.has(name))
    if (closed !== undefined) return `must not use ${closed}`
    const { valid, error } = parsed.check()
    return valid ? null : firstLine(error?.message)
  } catch (error) {
    return firstLine(error instanceof Error ? error.message : undefined)
  }
}

const firstLine = (message = 'is no expression'): string => message.split('\n')[0] ?? message

/** The functions and macros that an expression calls. */
function calledIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(calledIn)
  if (node === null || typeof node !== 'object' || !('op' in node)) return []
  const { op, args } = node as ASTNode
  const own = (op === 'call' || op === 'rcall') && Array.isArray(args) ? [String(args[0])] : []
  return [...own, ...calledIn(args)]
}

const parsed = new LRUCache<string, ParseResult>({ max: 5_000 })

function evaluate(expression: string, facts: RunFacts): unknown {
  let run = parsed.get(expression)
  if (run === undefined) {
    run = environment.parse(expression)
    parsed.set(expression, run)
  }
  try {
    return run(facts)
  } catch {
    return undefined
  }
}

/**
 * The value that a key expression has for a run. One that can't be told, since the run lacks what it asks for, is the
 * empty key: all such runs share it.
 */
export function keyOf(expression: string, facts: RunFacts): string {
  const value = evaluate(expression, facts)
  const isPlain = ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
  return isPlain ? String(value).replaceAll('\u0000', '').slice(0, keyMax) : ''
}

/** The units that a run takes, 1 to 1,000: 1 where it can't be told. */
export function costOf(expression: string, facts: RunFacts): number {
  const value = Number(evaluate(expression, facts) ?? 1)
  return Number.isNaN(value) ? 1 : Math.min(costMax, Math.max(1, Math.ceil(value)))
}
