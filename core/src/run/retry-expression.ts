import { z } from 'zod'
import { Expressions, expressionMax, seeBytes } from '../flow/cel.ts'
import type { AttemptOutcome, AttemptResponse } from './outcome.ts'

/** What the expression of a retry policy may look at: an attempt that failed. */
interface AttemptFacts {
  attempt: bigint
  /** 0: there was no answer. */
  status: bigint
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>
  error: string
  /** As JSON; a string where it is none; null where there is none, or more than is looked at. */
  body: unknown
  /** What the policy would wait without the expression, in milliseconds; 0: it would give up. */
  delay: bigint
  /** Null, in the place of a number. */
  stop: null
}

const expressions = new Expressions<AttemptFacts>(
  {
    attempt: 'int',
    status: 'int',
    headers: 'map<string, string>',
    error: 'string',
    body: 'dyn',
    delay: 'int',
    stop: 'dyn',
  },
  ['int', 'double', 'null'],
)

export const retryExpressionValue = z
  .string()
  .min(1)
  .max(expressionMax)
  .superRefine((text, context) => {
    const message = expressions.problem(text)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })
  .meta({
    description:
      'CEL over `attempt`, `status`, `headers`, `error`, `body` and `delay` (what the policy would wait): milliseconds until the next try, or `stop`.',
    examples: ['status == 429 ? 60000 * attempt : stop'],
  })

const bodyMax = 16_384
const delayMaxMs = 86_400_000

type Failed = Pick<Extract<AttemptOutcome, { status: 'failed' }>, 'errorClass' | 'httpStatus'> & {
  response?: AttemptResponse | null
}

/** Milliseconds to the next try, at most a day; null: there is none; undefined: it can't be told. */
export function expressedDelay(
  expression: string,
  failure: Failed,
  { attempt, delayMs }: { attempt: number; delayMs: number | null },
): number | null | undefined {
  const { errorClass, httpStatus, response } = failure
  let read: { body: unknown } | undefined
  const value = expressions.evaluate(expression, {
    attempt: BigInt(attempt),
    status: BigInt(httpStatus ?? 0),
    headers: Object.fromEntries(
      Object.entries(response?.headers ?? {}).map(([name, text]) => [name.toLowerCase(), [text].flat().join(', ')]),
    ),
    error: errorClass,
    get body() {
      read ??= { body: bodyOf(response) }
      return read.body
    },
    delay: BigInt(Math.round(delayMs ?? 0)),
    stop: null,
  })
  if (value === null) return null
  if (typeof value !== 'number' && typeof value !== 'bigint') return undefined
  const asked = Number(value)
  return Number.isNaN(asked) ? undefined : Math.ceil(Math.min(delayMaxMs, Math.max(0, asked)))
}

const bodyOf = (response: AttemptResponse | null | undefined): unknown =>
  !response || response.truncated || response.body.length > bodyMax ? null : seeBytes(response.body)
