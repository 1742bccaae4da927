/** The closed list of what can go wrong for a caller. `api/http/problems.ts` maps each one to RFC 9457. */
export const errorCodes = [
  'validation-failed',
  'malformed-request',
  'unauthenticated',
  'forbidden',
  'not-found',
  'conflict',
  'invalid-transition',
  'stale-lease',
  'precondition-failed',
  'idempotency-mismatch',
  'idempotency-key-required',
  'idempotency-in-flight',
  'quota-exceeded',
  'rate-limited',
  'payload-too-large',
  'unsupported-media-type',
  'dependency-unavailable',
  'internal',
] as const
export type ErrorCode = (typeof errorCodes)[number]

/** One thing wrong with the input: a JSON pointer (RFC 6901) into the body, and a sentence. */
export interface FieldProblem {
  pointer: string
  detail: string
}

export interface ErrorExtra {
  errors?: FieldProblem[]
  /** Seconds after which a retry makes sense. */
  retryAfterSeconds?: number
  /** What the caller may want to see of the current state (409). */
  current?: Record<string, unknown>
  cause?: unknown
}

/** The one error that core throws on purpose. `detail` is a sentence fit for the caller. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly extra: ErrorExtra
  constructor(code: ErrorCode, detail: string, extra: ErrorExtra = {}) {
    super(detail, { cause: extra.cause })
    this.name = 'AppError'
    this.code = code
    this.extra = extra
  }
}

/** The same answer for "does not exist" and "is not yours". */
export const notFound = (noun: string): AppError => new AppError('not-found', `There is no such ${noun}.`)

export const validationFailed = (errors: FieldProblem[], detail = 'The request is not valid.'): AppError =>
  new AppError('validation-failed', detail, { errors })

export const dependencyUnavailable = (name: string, cause?: unknown): AppError =>
  new AppError('dependency-unavailable', `${name} can't be reached right now. Nothing was changed; try again.`, {
    retryAfterSeconds: 1,
    cause,
  })
