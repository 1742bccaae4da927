import { toDuration } from '../kernel/duration.ts'

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Go's durations (`1h30m`, `90s`, `1.5h`) and protobuf's (`3600s`) in milliseconds; null when it is none. */
export function goDurationMs(text: string): number | null {
  const parts = text.match(/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+$/)
  if (parts === null) return null
  let total = 0
  for (const [, count = '0', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/g))
    total += Number(count) * (units[unit] ?? 0)
  return Math.round(total)
}

/** The same as an ISO 8601 duration of exact time. */
export function parseGoDuration(text: string): string | null {
  const ms = goDurationMs(text)
  return ms === null || ms <= 0 ? null : toDuration(ms)
}
