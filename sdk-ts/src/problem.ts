import type { FieldProblem, Problem } from './generated/types.gen.ts'

/** The API refused a request, or could not do it: the problem it answered with (RFC 9457). */
export class MeridianProblem extends Error {
  override readonly name = 'MeridianProblem'
  readonly code: Problem['code']
  readonly status: number
  /** Where this kind of problem is explained. */
  readonly type: string
  readonly title: string
  readonly detail: string
  /** Names the request in the logs of the API. */
  readonly requestId: string
  /** What is wrong with the input, each with a JSON pointer into it. */
  readonly errors: readonly FieldProblem[]
  /** The present state, for conflicts. */
  readonly current: Readonly<Record<string, unknown>> | undefined
  /** After how many seconds a retry makes sense, when the API said so. */
  readonly retryAfterSeconds: number | undefined

  constructor(problem: Problem, retryAfterSeconds?: number) {
    const where = problem.errors?.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
    super(where ? `${problem.detail} ${where}` : problem.detail)
    this.code = problem.code
    this.status = problem.status
    this.type = problem.type
    this.title = problem.title
    this.detail = problem.detail
    this.requestId = problem.requestId
    this.errors = problem.errors ?? []
    this.current = problem.current
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** There was no answer: the network failed, or it took too long. With an idempotency key it is safe to try again. */
export class MeridianConnectionError extends Error {
  override readonly name = 'MeridianConnectionError'
  readonly isTimeout: boolean

  constructor(message: string, options: { cause: unknown; isTimeout: boolean }) {
    super(message, { cause: options.cause })
    this.isTimeout = options.isTimeout
  }
}

/** Something between us and the API answered in its place: a proxy, say. */
export class MeridianUnexpectedAnswer extends Error {
  override readonly name = 'MeridianUnexpectedAnswer'
  readonly status: number
  readonly body: string

  constructor(status: number, body: string) {
    super(`The answer ${status} is not one of Meridian's.`)
    this.status = status
    this.body = body
  }
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'code' in body && 'requestId' in body && 'status' in body

/** The error behind a failed answer. */
export async function errorOf(response: Response): Promise<MeridianProblem | MeridianUnexpectedAnswer> {
  const text = await response.text().catch(() => '')
  try {
    const body: unknown = JSON.parse(text)
    if (isProblem(body)) return new MeridianProblem(body, retryAfterSeconds(response))
  } catch {
    // No JSON, so nothing of ours.
  }
  return new MeridianUnexpectedAnswer(response.status, text)
}

/** `Retry-After` in seconds, whichever of its two forms it has. */
export function retryAfterSeconds(response: Response): number | undefined {
  const header = response.headers.get('retry-after')
  if (header === null) return undefined
  if (/^\d+$/.test(header)) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1_000)
}
