import { type ASTNode, Environment, type ParseResult } from '@marcbachmann/cel-js'
import { LRUCache } from 'lru-cache'

export const expressionMax = 500

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

/** Expressions over the same facts. Structure is bounded and loops are closed: then one costs what reading it costs. */
export class Expressions<Facts extends object> {
  readonly #environment: Environment
  readonly #results: ReadonlySet<string> | null
  readonly #parsed = new LRUCache<string, ParseResult>({ max: 5_000 })

  /** What may be looked at, with its types; and of which types a result may be, where not of any. */
  constructor(variables: { [Name in keyof Facts & string]: string }, results?: readonly string[]) {
    let environment = new Environment({
      enableOptionalTypes: true,
      limits: { maxAstNodes: 100, maxDepth: 20, maxListElements: 20, maxMapEntries: 20, maxCallArguments: 4 },
    })
    for (const [name, type] of Object.entries<string>(variables)) environment = environment.registerVariable(name, type)
    this.#environment = environment
    this.#results = results === undefined ? null : new Set([...results, 'dyn'])
  }

  /** What is wrong with an expression, as a sentence; null when nothing is. */
  problem(expression: string): string | null {
    if (expression.length > expressionMax) return `must be at most ${expressionMax} characters`
    try {
      const parsed = this.#environment.parse(expression)
      const closed = calledIn(parsed.ast).find((name) => !open.has(name))
      if (closed !== undefined) return `must not use ${closed}`
      const { valid, type, error } = parsed.check()
      if (!valid) return firstLine(error?.message)
      if (this.#results === null || this.#results.has(String(type))) return null
      return `must give ${[...this.#results].filter((each) => each !== 'dyn').join(', ')}, not ${String(type)}`
    } catch (error) {
      return firstLine(error instanceof Error ? error.message : undefined)
    }
  }

  /** What an expression gives; undefined where it can't be told. */
  evaluate(expression: string, facts: Facts): unknown {
    let run = this.#parsed.get(expression)
    try {
      if (run === undefined) {
        run = this.#environment.parse(expression)
        this.#parsed.set(expression, run)
      }
      return run(facts as Record<string, unknown>)
    } catch {
      return undefined
    }
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

/** Bytes of a body as expressions see them: JSON where they are JSON, else text. */
export function seeBytes(bytes: Buffer | null): unknown {
  const text = bytes?.toString() ?? ''
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return text
  }
}
