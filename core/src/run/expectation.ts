import { RE2JS } from 're2js'
import { z } from 'zod'
import type { AttemptResponse } from './outcome.ts'
import { compilePath, valueAt } from './response-path.ts'

// Patterns are a tenant's and run in a process that others share: an engine without backtracking takes time in
// proportion to the text, whatever the pattern.
const compiles = (pattern: string): boolean => {
  try {
    RE2JS.compile(pattern)
    return true
  } catch {
    return false
  }
}
const patternValue = z
  .string()
  .min(1)
  .max(500)
  .refine(compiles, 'is not a regular expression of RE2 (no look-around, no back references)')

const pathValue = z
  .string()
  .min(1)
  .max(500)
  .refine((text) => compilePath(text) !== null, 'must be the path of one value, such as $.items[0].state')
  .meta({ description: 'A singular query of JSONPath (RFC 9535): names and indexes.', examples: ['$.items[0].state'] })

const scalarValue = z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()])

const jsonValue = z
  .strictObject({
    path: pathValue,
    equals: scalarValue.optional(),
    notEquals: scalarValue.optional(),
    matches: patternValue
      .optional()
      .meta({ description: 'Found somewhere in the value, which is a text or a number.' }),
    exists: z.boolean().optional().meta({ description: 'Whether there is such a value. Implied by the others.' }),
  })
  .refine((rule) => Object.keys(rule).length > 1, 'must say what is expected of the value')
  .meta({ id: 'JsonExpectation' })

/** The wire value of what a response has to be for its attempt to be a success. */
export const expectationValue = z
  .strictObject({
    status: z
      .array(z.string().regex(/^[1-5](\d\d|xx)$/, 'must be a status (204) or a class of them (2xx)'))
      .min(1)
      .max(20)
      .optional()
      .meta({ description: 'Which statuses are a success: `200`, `2xx`. Left out: 2xx.' }),
    json: z.array(jsonValue).min(1).max(20).optional().meta({ description: 'What the body, as JSON, has to hold.' }),
    matches: z.array(patternValue).min(1).max(10).optional().meta({ description: 'Each is found in the body.' }),
    notMatches: z.array(patternValue).min(1).max(10).optional().meta({ description: 'None is found in the body.' }),
  })
  .meta({ id: 'Expectation' })
export type Expectation = z.output<typeof expectationValue>

type JsonRule = z.output<typeof jsonValue>

/** Whether a status is a success, by what is expected or by itself. */
export function isExpectedStatus(status: number, expectation: Expectation | undefined): boolean {
  const expected = expectation?.status
  if (expected === undefined) return status >= 200 && status < 300
  return expected.includes(String(status)) || expected.includes(`${Math.floor(status / 100)}xx`)
}

type Response = Pick<AttemptResponse, 'body' | 'truncated' | 'headers'>

/** What of a response is not as expected, in a sentence; null when all is. Its status is another question. */
export function unmetExpectation({ json, matches, notMatches }: Expectation, response: Response): string | null {
  if (json === undefined && matches === undefined && notMatches === undefined) return null
  const encoding = [response.headers['content-encoding']].flat()[0]
  if (encoding !== undefined && encoding !== 'identity') return `The body is encoded (${encoding}) and can't be read.`
  if (response.truncated)
    return 'The body is longer than what is kept of it, and can’t be held against what is expected.'
  const text = response.body.toString('utf8')
  for (const pattern of matches ?? []) if (!isFound(pattern, text)) return `The body does not match ${pattern}.`
  for (const pattern of notMatches ?? []) if (isFound(pattern, text)) return `The body matches ${pattern}.`
  return json === undefined ? null : unmetJson(json, text)
}

function unmetJson(rules: readonly JsonRule[], text: string): string | null {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return 'The body is not JSON.'
  }
  for (const rule of rules) {
    const unmet = unmetRule(rule, valueAt(body, compilePath(rule.path) ?? []))
    if (unmet !== null) return unmet
  }
  return null
}

function unmetRule({ path, equals, notEquals, matches, exists }: JsonRule, value: unknown): string | null {
  if (exists === false) return value === undefined ? null : `There is a value at ${path}.`
  if (value === undefined) return `There is no value at ${path}.`
  const shown = shorten(JSON.stringify(value))
  if (equals !== undefined && value !== equals) return `${path} is ${shown}, not ${JSON.stringify(equals)}.`
  if (notEquals !== undefined && value === notEquals) return `${path} is ${shown}.`
  if (matches === undefined) return null
  const isText = typeof value === 'string' || typeof value === 'number'
  return isText && isFound(matches, String(value)) ? null : `${path} is ${shown}, which does not match ${matches}.`
}

const isFound = (pattern: string, text: string): boolean => RE2JS.compile(pattern).matcher(text).find()

const shownMax = 100
const shorten = (text: string): string => (text.length > shownMax ? `${text.slice(0, shownMax)}…` : text)
