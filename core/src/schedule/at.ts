/** A point in time as written: an instant, or a wall-clock time that still needs a zone. */
export type ParsedTime =
  | { readonly kind: 'instant'; readonly instantMs: number }
  | { readonly kind: 'wall'; readonly wall: number }

const isoTime =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-5][0-9](?:\.[0-9]{1,3})?)?(Z|[+-][0-9]{2}:[0-9]{2})?$/

/** Parses an ISO 8601 date and time, with `Z` or an offset or without; `undefined` when it is none. */
export function parseTime(text: string): ParsedTime | undefined {
  const match = isoTime.exec(text.slice(0, 40))
  if (!match || text.length > 40) return undefined
  try {
    if (match[1] !== undefined) return { kind: 'instant', instantMs: Temporal.Instant.from(text).epochMilliseconds }
    return { kind: 'wall', wall: Temporal.PlainDateTime.from(text).toZonedDateTime('UTC').epochMilliseconds }
  } catch {
    return undefined
  }
}
