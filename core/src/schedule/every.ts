/** The step of an `every` schedule in milliseconds, or what is wrong with its text. */
export type ParsedEvery =
  | { readonly ok: true; readonly everyMs: number }
  | { readonly ok: false; readonly detail: string }

const exactDuration = /^PT(?=[0-9])(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})(?:\.([0-9]{1,3}))?S)?$/
const shortestMs = 1_000
const longestMs = 10 * 366 * 86_400_000

const fail = (detail: string): ParsedEvery => ({ ok: false, detail })

/** Parses an ISO 8601 duration of exact time (hours, minutes, seconds), from 1 second to 10 years. */
export function parseEvery(text: string): ParsedEvery {
  const parts = text.length > 40 ? null : exactDuration.exec(text)
  if (!parts) {
    if (/^P[0-9]{1,9}[YMWD]/.test(text))
      return fail(
        'Calendar units (years, months, weeks, days) are not supported yet: use exact time such as PT24H, or cron',
      )
    return fail('Not an ISO 8601 duration of exact time such as PT15M or PT1H30M')
  }
  const [, hours = '0', minutes = '0', seconds = '0', fraction = ''] = parts
  const everyMs =
    (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000 + Number(fraction.padEnd(3, '0'))
  if (everyMs < shortestMs) return fail('The shortest interval is 1 second (PT1S)')
  if (everyMs > longestMs) return fail('The longest interval is 10 years (PT87840H)')
  return { ok: true, everyMs }
}

/** The first of `anchor`, `anchor + every`, `anchor + 2 every`... strictly after `afterMs`. */
export function nextEvery(anchorMs: number, everyMs: number, afterMs: number): number {
  return anchorMs + Math.max(0, Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs
}
