/** A stretch of time, in milliseconds since the epoch. */
export interface Range {
  from: number
  to: number
}

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const binSizes = [
  1_000,
  5_000,
  10_000,
  30_000,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  3 * hour,
  6 * hour,
  12 * hour,
  day,
  7 * day,
]

/** The smallest round bin that keeps a range within `most` bins. */
export function binSize({ from, to }: Range, most = 60): number {
  const rough = (to - from) / most
  return binSizes.find((size) => size >= rough) ?? Math.ceil(rough / day) * day
}

/** The shortcuts of the range picker. */
export const presets = [
  { name: '1h', words: 'Last hour', length: hour },
  { name: '24h', words: 'Last 24 hours', length: day },
  { name: '7d', words: 'Last 7 days', length: 7 * day },
  { name: '30d', words: 'Last 30 days', length: 30 * day },
] as const

export type PresetName = (typeof presets)[number]['name']

/** A range as the URL has it: a preset that moves with now, or two fixed instants. */
export type RangeChoice = { preset: PresetName; range: Range } | { preset: undefined; range: Range }

/** Reads `?last=24h` or `?from=…&to=…`; anything unreadable is the last 24 hours. */
export function readRange(params: Pick<URLSearchParams, 'get'>, now: number): RangeChoice {
  const [from, to] = [Date.parse(params.get('from') ?? ''), Date.parse(params.get('to') ?? '')]
  if (from < to) return { preset: undefined, range: { from, to } }
  const preset = presets.find(({ name }) => name === params.get('last')) ?? presets[1]
  return { preset: preset.name, range: { from: now - preset.length, to: now } }
}

/** The range between two bins, whichever was touched first. */
export function rangeBetween(first: Range, second: Range): Range {
  return { from: Math.min(first.from, second.from), to: Math.max(first.to, second.to) }
}
