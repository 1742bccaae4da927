type Headers = Readonly<Record<string, string | string[]>>

const secondsPattern = /^\d{1,10}$/

/**
 * How long a failed response asks to wait, in milliseconds from `nowMs`, or `null` when it does not ask in a form we
 * can read: by `Retry-After`; else by the window of a limit that is used up, in `RateLimit` or `X-RateLimit-Reset`.
 */
export function askedDelayMs(status: number, headers: Headers, nowMs: number): number | null {
  const asked = retryAfterMs(headers, nowMs)
  if (asked !== null || status < 400) return asked
  return rateLimitMs(headers, status === 429) ?? resetMs(headers, nowMs, status === 429)
}

/** Whether a response says that no further try is wanted: `Meridian-Retry: no`. */
export const forbidsRetry = (headers: Headers): boolean =>
  first(headers['meridian-retry'])?.trim().toLowerCase() === 'no'

/**
 * `Retry-After` (RFC 9110, 10.2.3). A date is measured against the response's own `Date`, so that the clocks of the two
 * machines need not agree.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const text = first(headers['retry-after'])?.trim()
  if (!text) return null
  if (secondsPattern.test(text)) return Number(text) * 1_000
  const asked = httpDate(text)
  if (asked === null) return null
  return Math.max(0, asked - (httpDate(first(headers.date) ?? '') ?? nowMs))
}

const remainingPattern = /[;,\s](?:r|remaining)\s*=\s*(\d{1,15})/
const windowPattern = /[;,\s](?:t|reset)\s*=\s*(\d{1,10})(?![\d.])/

/**
 * `RateLimit` (draft-ietf-httpapi-ratelimit-headers): of `"name";r=0;t=30`, t; of the older `limit=5, remaining=0,
 * reset=30`, reset. Of several limits the longest wait of those that are used up.
 */
function rateLimitMs(headers: Headers, isRefusedForRate: boolean): number | null {
  const value = headers.ratelimit
  if (value === undefined) return null
  const text = [value].flat().join(', ')
  const limits = text.includes('"') ? text.split(/,\s*(?=")/) : [text]
  let longest: number | null = null
  for (const limit of limits) {
    const seconds = windowPattern.exec(` ${limit}`)?.[1]
    const remaining = remainingPattern.exec(` ${limit}`)?.[1]
    const isUsedUp = remaining === undefined ? isRefusedForRate : Number(remaining) === 0
    if (seconds !== undefined && isUsedUp) longest = Math.max(longest ?? 0, Number(seconds) * 1_000)
  }
  return longest
}

// No standard says what it counts: seconds from now, seconds of the epoch, or its milliseconds. They are far apart.
const epochSecondsFrom = 1_000_000_000
const epochMillisecondsFrom = 1_000_000_000_000

function resetMs(headers: Headers, nowMs: number, isRefusedForRate: boolean): number | null {
  const text = first(headers['x-ratelimit-reset'])?.trim()
  if (!text || !/^\d{1,13}(\.\d{1,9})?$/.test(text)) return null
  const remaining = first(headers['x-ratelimit-remaining'])?.trim()
  if (remaining === undefined ? !isRefusedForRate : remaining !== '0') return null
  const value = Number(text)
  if (value < epochSecondsFrom) return Math.ceil(value * 1_000)
  const instantMs = value < epochMillisecondsFrom ? value * 1_000 : value
  return Math.max(0, Math.ceil(instantMs - (httpDate(first(headers.date) ?? '') ?? nowMs)))
}

const first = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value)

// RFC 9110, 5.6.7: all three forms name the day and are in GMT. `Date.parse` reads them, and much else that is no
// date of HTTP ("5 minutes" is a day in May), so the shape is checked first. Only asctime lacks the zone.
const datePattern =
  /^(?:[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4}|[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d) \d\d:\d\d:\d\d GMT$/
const asctimePattern = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/

function httpDate(text: string): number | null {
  const zoned = datePattern.test(text) ? text : asctimePattern.test(text) ? `${text} GMT` : null
  if (zoned === null) return null
  const ms = Date.parse(zoned)
  return Number.isNaN(ms) ? null : ms
}
