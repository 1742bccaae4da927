const secondsPattern = /^\d{1,10}$/

/**
 * How long a response asks to wait by `Retry-After` (RFC 9110, 10.2.3), in milliseconds from `nowMs`, or `null` when
 * it does not ask in a form we can read. A date is measured against the response's own `Date`, so that the clocks
 * of the two machines need not agree.
 */
export function retryAfterMs(headers: Readonly<Record<string, string | string[]>>, nowMs: number): number | null {
  const text = first(headers['retry-after'])?.trim()
  if (!text) return null
  if (secondsPattern.test(text)) return Number(text) * 1_000
  const asked = httpDate(text)
  if (asked === null) return null
  return Math.max(0, asked - (httpDate(first(headers.date) ?? '') ?? nowMs))
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
