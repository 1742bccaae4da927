import { AppError, type ErrorCode, type ErrorExtra, type FieldProblem } from '@meridian/core/kernel/errors'

/** Everything that can be answered as a problem: core's codes, and what only HTTP knows. */
export type ProblemCode = ErrorCode | 'method-not-allowed'

/** Each code once: its status and its title. A new code of core does not compile until it is here. */
export const problems = {
  'malformed-request': { status: 400, title: 'The request can not be read' },
  'idempotency-key-required': { status: 400, title: 'An idempotency key is required' },
  unauthenticated: { status: 401, title: 'Who is asking?' },
  forbidden: { status: 403, title: 'Not allowed' },
  'not-found': { status: 404, title: 'Not found' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'Conflict' },
  'invalid-transition': { status: 409, title: 'Not possible in this state' },
  'stale-lease': { status: 409, title: 'The lease is no longer yours' },
  'idempotency-in-flight': { status: 409, title: 'A request with this idempotency key is in flight' },
  'precondition-failed': { status: 412, title: 'Changed by somebody else' },
  'payload-too-large': { status: 413, title: 'Too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported content type' },
  'validation-failed': { status: 422, title: 'Not valid' },
  'idempotency-mismatch': { status: 422, title: 'The idempotency key belongs to another request' },
  'quota-exceeded': { status: 429, title: 'Quota exceeded' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Our fault' },
  'dependency-unavailable': { status: 503, title: 'Not available right now' },
} as const satisfies Record<ProblemCode, { status: number; title: string }>

export const problemCodes = Object.keys(problems) as ProblemCode[]

export const problemMediaType = 'application/problem+json'

/** An error of the HTTP layer itself, beside core's `AppError`. */
export class HttpError extends Error {
  readonly code: ProblemCode
  readonly extra: ErrorExtra
  readonly headers: Record<string, string>
  constructor(code: ProblemCode, detail: string, extra: ErrorExtra = {}, headers: Record<string, string> = {}) {
    super(detail, { cause: extra.cause })
    this.name = 'HttpError'
    this.code = code
    this.extra = extra
    this.headers = headers
  }
}

/** The body of RFC 9457. */
export interface ProblemBody {
  type: string
  title: string
  status: number
  detail: string
  instance?: string
  code: ProblemCode
  requestId: string
  errors?: FieldProblem[]
  current?: Record<string, unknown>
}

export interface Occurrence {
  /** Where the problem types are documented, without a slash at the end. */
  docsBase: string
  requestId: string
  path?: string
}

/** Any error as a problem. What is not ours to explain becomes one fixed sentence; its words never leave the process. */
export function toProblem(error: unknown, { docsBase, requestId, path }: Occurrence): ProblemBody {
  const known = error instanceof AppError || error instanceof HttpError ? error : null
  const code: ProblemCode = known?.code ?? 'internal'
  const { status, title } = problems[code]
  const { errors, current } = known?.extra ?? {}
  return {
    type: `${docsBase}/problems/${code}`,
    title,
    status,
    detail:
      code === 'internal'
        ? 'Something went wrong on our side. It has been written down under the request id.'
        : (known?.message ?? ''),
    ...(path === undefined ? {} : { instance: path }),
    code,
    requestId,
    ...(errors === undefined ? {} : { errors }),
    ...(current === undefined ? {} : { current }),
  }
}

/** The headers that go with a problem. */
export function problemHeaders(error: unknown, code: ProblemCode): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': problemMediaType, 'cache-control': 'no-store' }
  if (error instanceof HttpError) Object.assign(headers, error.headers)
  const { status } = problems[code]
  if (status === 401) headers['www-authenticate'] ??= 'Bearer realm="meridian"'
  if (status === 429 || status === 503) {
    const seconds = error instanceof AppError || error instanceof HttpError ? error.extra.retryAfterSeconds : undefined
    headers['retry-after'] ??= String(seconds ?? 1)
  }
  return headers
}
