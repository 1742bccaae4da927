import { isIP } from 'node:net'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { durationMs, durationValue } from '../kernel/duration.ts'
import type { FieldProblem } from '../kernel/errors.ts'
import { type AllowPrivate, addressGate } from './address.ts'
import { expectationValue } from './expectation.ts'

export const httpMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const
export type HttpMethod = (typeof httpMethods)[number]

const headerCountMax = 64
const headerBytesMax = 16_384

// An HTTP request can be shaped into mail for a server that forgives the lines it does not know.
const closedPorts = new Set(['25', '465', '587'])

/**
 * What is wrong with a URL to be called, as sentences; empty when nothing is. It sees what can be seen without
 * asking DNS, so a name that leads to a private address is found only when it is called.
 */
export function urlProblems(url: string, { allowPrivate }: { allowPrivate: AllowPrivate }): string[] {
  if (typeof allowPrivate !== 'boolean') return findUrlProblems(url, allowPrivate)
  const seen = allowPrivate ? seenOpen : seenPublic
  let problems = seen.get(url)
  if (problems === undefined) {
    problems = findUrlProblems(url, allowPrivate)
    seen.set(url, problems)
  }
  return problems
}

// A tenant calls the same few URLs again and again, and parsing one costs as much as all else about a run's form.
const seenOpen = new LRUCache<string, string[]>({ max: 5_000 })
const seenPublic = new LRUCache<string, string[]>({ max: 5_000 })

function findUrlProblems(url: string, allowPrivate: AllowPrivate): string[] {
  // A URL parser drops these silently: two readers of the text could then see two hosts.
  if (/[\s\p{Cc}\\]/u.test(url)) return ['must not hold white space, control characters or backslashes']
  if (!URL.canParse(url)) return ['must be an absolute URL']
  const parsed = new URL(url)
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return ['must start with http:// or https://']
  const problems: string[] = []
  if (parsed.username || parsed.password) problems.push('must not hold a user name or password; use a header')
  if (closedPorts.has(parsed.port)) problems.push(`must not use the mail port ${parsed.port}`)
  if (!mayCallHost(parsed.hostname, allowPrivate)) problems.push('must not lead to a private or reserved address')
  return problems
}

function mayCallHost(hostname: string, allowPrivate: AllowPrivate): boolean {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const allows = addressGate(allowPrivate)
  // The parser has already turned octal, hexadecimal, decimal and short forms into four decimal numbers.
  if (isIP(host) !== 0) return allows(host)
  // RFC 6761 gives the whole domain to the loopback.
  return !/(^|\.)localhost\.?$/.test(host) || allows('127.0.0.1') || allows('::1')
}

// Ours to set, or meaningful for one connection only.
const closedHeaders = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'upgrade',
  'expect',
  'te',
  'trailer',
])

/** What is wrong with a tenant's headers, each with a JSON pointer relative to them; empty when nothing is. */
export function headerProblems(headers: Readonly<Record<string, string>>): FieldProblem[] {
  const names = Object.keys(headers)
  if (names.length > headerCountMax) return [{ pointer: '', detail: `must not be more than ${headerCountMax} headers` }]
  const problems: FieldProblem[] = []
  const seen = new Set<string>()
  let bytes = 0
  for (const name of names) {
    const value = headers[name] ?? ''
    bytes += name.length + value.length + 4
    const detail = headerProblem(name.toLowerCase(), value, seen)
    if (detail) problems.push({ pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, detail })
  }
  if (bytes > headerBytesMax) problems.push({ pointer: '', detail: `must not be more than ${headerBytesMax} bytes` })
  return problems
}

function headerProblem(name: string, value: string, seen: Set<string>): string | null {
  if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name)) return 'is not a header name'
  if (closedHeaders.has(name) || name.startsWith('meridian-')) return 'is a header that Meridian sets itself'
  if (seen.has(name)) return 'is given twice, in different spelling'
  seen.add(name)
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return 'must hold printable Latin-1 characters only'
  return null
}

const addIssues = (context: z.RefinementCtx, path: PropertyKey[], messages: string[]): void => {
  for (const message of messages) context.addIssue({ code: 'custom', path, message })
}

const urlValue = z
  .string()
  .max(2_048)
  .superRefine((url, context) => addIssues(context, [], urlProblems(url, { allowPrivate: true })))
  .meta({ format: 'uri', examples: ['https://example.com/hooks/nightly'] })

const headersValue = z.record(z.string(), z.string()).superRefine((headers, context) => {
  for (const { pointer, detail } of headerProblems(headers)) {
    addIssues(context, pointer ? [pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~')] : [], [detail])
  }
})

const callbackHeaderBytesMax = 2_048

const callbackValue = z
  .strictObject({
    url: urlValue,
    headers: headersValue
      .refine(
        (headers) =>
          Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0) <=
          callbackHeaderBytesMax,
        `must not be more than ${callbackHeaderBytesMax} bytes`,
      )
      .default({}),
  })
  .meta({ id: 'Callback', description: 'Called by POST, with the facts of the run as JSON.' })

const callbacksValue = z
  .strictObject({
    success: callbackValue.optional().meta({ description: 'Told that the run has succeeded.' }),
    failure: callbackValue.optional().meta({ description: 'Told that the run has failed or expired.' }),
  })
  .meta({ id: 'Callbacks' })

/** Who is told of a run's end. */
export type Callbacks = z.output<typeof callbacksValue>
export type Callback = z.output<typeof callbackValue>
const callbackEnds = ['success', 'failure'] as const
export type CallbackEnd = (typeof callbackEnds)[number]

/** The ends that somebody is to be told of. */
export const toldEnds = (callbacks: Callbacks | undefined): CallbackEnd[] =>
  callbackEnds.filter((end) => callbacks?.[end] !== undefined)

/** The wire value of an HTTP target. Whether private addresses are allowed is the door's question: `urlProblems`. */
export const httpTargetValue = z.strictObject({
  type: z.literal('http'),
  url: urlValue,
  method: z.enum(httpMethods).default('POST'),
  headers: headersValue.default({}),
  body: z
    .unknown()
    .optional()
    .meta({ description: 'A string is sent as it is, anything else as JSON. null is no body.' }),
  timeout: durationValue('PT0.1S', 'PT15M').default('PT30S'),
  expect: expectationValue
    .optional()
    .meta({ description: 'What the response has to be. Left out, any status of 2xx is a success.' }),
  callbacks: callbacksValue.optional().meta({ description: 'Who is told of how the run ended, by a run of its own.' }),
})

/** What a run calls. HTTP is the first kind. */
export type Target = z.output<typeof httpTargetValue>

/** How long an attempt may take, in milliseconds. */
export const targetTimeoutMs = ({ timeout }: Target): number => durationMs(timeout) ?? 0
