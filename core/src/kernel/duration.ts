import { z } from 'zod'

// Exact time only: a day or a month has no fixed length in a time zone, so they are no timeouts.
const pattern = /^PT(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:[.,](\d{1,3}))?S)?$/

/** The milliseconds of an ISO 8601 duration of hours, minutes and seconds (`PT1H30M`, `PT0.1S`), or `null`. */
export function durationMs(text: string): number | null {
  const parts = pattern.exec(text)
  if (!parts) return null
  const [, hours = '0', minutes = '0', seconds = '0', fraction = ''] = parts
  return (
    Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1_000 + Number(fraction.padEnd(3, '0'))
  )
}

/** The shortest ISO 8601 text of a whole number of milliseconds: 100 -> `PT0.1S`, 5_400_000 -> `PT1H30M`. */
export function toDuration(ms: number): string {
  const hours = Math.floor(ms / 3_600_000)
  const minutes = Math.floor((ms % 3_600_000) / 60_000)
  const seconds = (ms % 60_000) / 1_000
  const text = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`
  return `PT${text || '0S'}`
}

/** A wire value: an ISO 8601 duration between two bounds, both included. */
export const durationValue = (minimum: string, maximum: string) => {
  const minimumMs = durationMs(minimum) ?? 0
  const maximumMs = durationMs(maximum) ?? 0
  return z
    .string()
    .refine((text) => {
      const ms = durationMs(text)
      return ms !== null && ms >= minimumMs && ms <= maximumMs
    }, `must be an ISO 8601 duration from ${minimum} to ${maximum}, such as PT30S`)
    .meta({ format: 'duration' })
}
