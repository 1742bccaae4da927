import { errorOf, MeridianConnectionError, MeridianProblem, retryAfterSeconds } from './problem.ts'

export interface TransportOptions {
  fetch: typeof fetch
  /** How long one try may take. */
  timeoutMs: number
  /** How many further tries a request gets. */
  retries: number
  /** A server that asks to wait longer is told to the caller instead. */
  patienceMs: number
}

const firstDelayMs = 200
const delayMaxMs = 5_000

// With these, the API or whatever stands before it says that nothing was done.
const untouched = new Set([429, 503])
// With these nobody knows.
const unknown = new Set([502, 504])

/**
 * A `fetch` that tries again where that is safe: always when nothing was done, else when the method or an idempotency
 * key makes a second request harmless. Retries carry the same key. Throws `MeridianProblem`,
 * `MeridianUnexpectedAnswer` or `MeridianConnectionError`; what it returns is a success.
 */
export function createTransport(options: TransportOptions): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= options.retries
      const outcome = await attemptOnce(request, isLast, options)
      if (outcome instanceof Response) return outcome
      if (isLast || !outcome.isSafe) throw outcome.error
      const waitMs = outcome.askedMs ?? backoffMs(attempt)
      if (waitMs > options.patienceMs) throw outcome.error
      await pause(waitMs, request.signal)
    }
  }
}

interface Failure {
  error: unknown
  isSafe: boolean
  /** What the server asked us to wait. */
  askedMs: number | undefined
}

async function attemptOnce(request: Request, isLast: boolean, options: TransportOptions): Promise<Response | Failure> {
  const isRepeatable = isHarmless(request)
  const timeout = AbortSignal.timeout(options.timeoutMs)
  // A request's body can be read once, so each try but the last gets a copy.
  const tried = new Request(isLast ? request : request.clone(), { signal: AbortSignal.any([request.signal, timeout]) })
  let response: Response
  try {
    response = await options.fetch(tried)
  } catch (cause) {
    if (request.signal.aborted) throw request.signal.reason
    const isTimeout = timeout.aborted
    const message = isTimeout ? `No answer within ${options.timeoutMs} ms.` : 'The API can not be reached.'
    return {
      error: new MeridianConnectionError(message, { cause, isTimeout }),
      isSafe: isRepeatable,
      askedMs: undefined,
    }
  }
  if (response.ok || response.status === 304) return response
  const asked = retryAfterSeconds(response)
  const error = await errorOf(response)
  const isInFlight = error instanceof MeridianProblem && error.code === 'idempotency-in-flight'
  return {
    error,
    isSafe: untouched.has(response.status) || isInFlight || (unknown.has(response.status) && isRepeatable),
    askedMs: asked === undefined ? undefined : asked * 1_000,
  }
}

const isHarmless = ({ method, headers }: Request): boolean =>
  method === 'GET' || method === 'PUT' || method === 'DELETE' || headers.has('idempotency-key')

/** Doubling, and spread over its upper half, so that a crowd does not come back at once. */
const backoffMs = (attempt: number): number =>
  Math.min(delayMaxMs, firstDelayMs * 2 ** attempt) * (0.5 + Math.random() / 2)

/** Waits; throws the signal's reason when that aborts first. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
