import type { Fairness } from '@meridian/sdk'
import { presets } from '#lib/draw/histogram.ts'
import { durationWords, parseIsoDuration } from '#lib/time/duration.ts'

/** How far back shares are looked at: samples are kept for weeks, and a month says little. */
export const spans = presets.slice(0, 3)

export type Span = (typeof spans)[number]

/** Reads `?last=24h`; anything unreadable is the last hour. */
export const readSpan = (params: Pick<URLSearchParams, 'get'>): Span =>
  spans.find(({ name }) => name === params.get('last')) ?? presets[0]

type Share = Pick<Fairness['pools'][number], 'received' | 'entitled' | 'ratio'>

const slotFormat = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 })

/** Slots on average: `3`, `12.4`, `under 0.1`. */
export const slotWords = (slots: number): string => (slots > 0 && slots < 0.05 ? 'under 0.1' : slotFormat.format(slots))

// Samples of whole slots come this near to a share that is none.
const near = 0.05

/** How what was had stands to what should have been. */
export function standingOf({ ratio }: Pick<Share, 'ratio'>): 'nothing' | 'short' | 'whole' | 'over' {
  if (ratio === null) return 'nothing'
  if (ratio < 1 - near) return 'short'
  return ratio > 1 + near ? 'over' : 'whole'
}

/** The same in a few words. */
export function ratioWords(share: Pick<Share, 'ratio'>): string {
  const percent = Math.round((share.ratio ?? 0) * 100)
  const words = { nothing: 'wanted none', short: `${percent}%`, whole: 'all of it', over: `${percent}%` }
  return words[standingOf(share)]
}

/** What a report comes to, in one line; undefined where nothing ran. */
export function verdictWords({ pools, waits }: Pick<Fairness, 'pools' | 'waits'>, tenant: string): string | undefined {
  const wanted = pools.filter(({ ratio }) => ratio !== null)
  const worst = wanted.toSorted((one, other) => (one.ratio ?? 0) - (other.ratio ?? 0))[0]
  const waited = waits.p95Ms === null ? '' : ` · 19 of 20 runs began within ${durationWords(waits.p95Ms)}`
  if (worst === undefined) return waited === '' ? undefined : waited.slice(3)
  const got =
    standingOf(worst) === 'short'
      ? `${ratioWords(worst)} of its share of the slots${pools.length > 1 ? ` in ${worst.pool}` : ''}`
      : 'its whole share of the slots'
  return `${tenant} got ${got}${waited}`
}

/** A pool over time, a column a step; a column in which nothing ran is empty. */
export interface Columns {
  from: number
  stepMs: number
  received: number[]
  entitled: number[]
  slots: number[]
  /** The most that is drawn, above zero. */
  most: number
}

export function columnsOf(pool: Fairness['pools'][number], { from, to, step }: Fairness): Columns {
  const stepMs = parseIsoDuration(step) ?? 60_000
  const first = Math.floor(Date.parse(from) / 60_000) * 60_000
  const count = Math.max(1, Math.ceil((Date.parse(to) - first) / stepMs))
  const empty = () => new Array<number>(count).fill(0)
  const columns = { from: first, stepMs, received: empty(), entitled: empty(), slots: empty() }
  for (const { at, received, entitled, slots } of pool.series) {
    const column = Math.round((Date.parse(at) - first) / stepMs)
    columns.received[column] = received
    columns.entitled[column] = entitled
    columns.slots[column] = slots
  }
  return { ...columns, most: Math.max(...columns.received, ...columns.entitled, 0.001) }
}
