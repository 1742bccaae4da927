/** Why an attempt failed: a closed list, told to tenants. */
export const errorClasses = [
  'http-status',
  'timeout',
  'connect-failed',
  'tls-failed',
  'reset',
  'protocol-error',
  'blocked-destination',
  'dns-failed',
  'too-many-redirects',
  'cancelled',
  'unreadable',
  'unexpected-response',
  'start-deadline',
  'end-deadline',
] as const
export type ErrorClass = (typeof errorClasses)[number]

/** How a run ends whose last attempt failed so: a deadline that passed is no failure of the target. */
export const endingOf = (error: ErrorClass): 'failed' | 'expired' =>
  error === 'start-deadline' || error === 'end-deadline' ? 'expired' : 'failed'

/** Where the time of the last hop went, in milliseconds with fractions. `null`: that point was never reached. */
export interface AttemptPhases {
  /** From the start of the hop to its first byte on the socket, with name look-up, connecting and waiting for a socket. */
  sendMs: number | null
  /** Looking the name up; 0 when a kept connection served. */
  dnsMs: number | null
  /** TCP and TLS; 0 when a kept connection served. */
  connectMs: number | null
  /** From the first byte sent to the head of the response. */
  firstByteMs: number | null
}

export interface AttemptResponse {
  status: number
  headers: Record<string, string | string[]>
  /** What is kept inline: the whole body, or its beginning. Never decompressed. */
  body: Buffer
  /** The response was longer than all that is kept of it. */
  truncated: boolean
  /** Where the longer part kept is stored, when it did not fit inline. */
  storedAs: string | null
  /** The URL that answered, when redirects were followed. */
  redirectedTo: string | null
}

interface AttemptFacts {
  /** Whole milliseconds from the start of the attempt to its end, redirects included. */
  durationMs: number
  /** Epoch milliseconds of the first byte on the first socket, by this process's clock; `null` when none was sent. */
  sentAtMs: number | null
  phases: AttemptPhases
  httpStatus: number | null
  response: AttemptResponse | null
  /** What the target asked for by `Retry-After` or its like, counted from the end of the attempt. */
  retryAfterMs: number | null
  /** The target said that trying again is no use. */
  forbidsRetry?: true
}

/** How one attempt ended. A failed attempt is not an error of ours: outcomes are data. */
export type AttemptOutcome = AttemptFacts &
  ({ status: 'succeeded' } | { status: 'failed'; errorClass: ErrorClass; detail: string })
