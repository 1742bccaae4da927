/** `06:25` from what people type for it: `6:25`, `625`, `6.25`, `6`, `6:25 pm`. Undefined for anything else. */
export function parseClock(text: string): string | undefined {
  const match = /^\s*(\d{1,2})(?:[:.h]?(\d{2}))?\s*(am|pm)?\s*$/i.exec(text)
  if (!match) return undefined
  const half = match[3]?.toLowerCase()
  const written = Number(match[1])
  if (half && (written < 1 || written > 12)) return undefined
  const hour = half ? (written % 12) + (half === 'pm' ? 12 : 0) : written
  const minute = Number(match[2] ?? 0)
  if (hour > 23 || minute > 59) return undefined
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
}

/** The same for the end of a stretch, where midnight is the end of the day: `24:00`. */
export function parseEndClock(text: string): string | undefined {
  const clock = /^\s*24(?:[:.h]?00)?\s*$/.test(text) ? '00:00' : parseClock(text)
  return clock === '00:00' ? '24:00' : clock
}
