import type { OccurrenceCounts } from '@meridian/sdk'
import type { Entry, Kind } from './entries.ts'

/** What happened, and will happen, in a slice of time too full to draw one by one. */
export interface Cell {
  from: number
  /** How many, those there are, worst first. */
  parts: { kind: Kind; count: number }[]
  count: number
  /** 0 to 1 of the room, by the square root of the count. */
  height: number
}

type Count = OccurrenceCounts['counts'][number]

const partsOf = ({ pending, run, failed, skipped, missed }: Omit<Count, 'from'>, coming: number): Cell['parts'] =>
  (
    [
      { kind: 'failed', count: failed },
      { kind: 'missed', count: missed },
      { kind: 'skipped', count: skipped },
      { kind: 'succeeded', count: Math.max(run - failed, 0) },
      { kind: 'pending', count: pending },
      { kind: 'coming', count: coming },
    ] satisfies Cell['parts']
  ).filter(({ count }) => count > 0)

const none = { pending: 0, run: 0, failed: 0, skipped: 0, missed: 0 }

/** The counted past and the coming instants in the same slices; `sliceOf` gives the beginning of the slice of an instant. */
export function cellsOf(
  counts: readonly Count[],
  coming: readonly Pick<Entry, 'nominalAt' | 'kind'>[],
  sliceOf: (at: number) => number,
): Cell[] {
  const ahead = new Map<number, { coming: number; skipped: number }>()
  for (const { nominalAt, kind } of coming) {
    const slice = sliceOf(nominalAt)
    const entry = ahead.get(slice) ?? { coming: 0, skipped: 0 }
    ahead.set(
      slice,
      kind === 'coming' ? { ...entry, coming: entry.coming + 1 } : { ...entry, skipped: entry.skipped + 1 },
    )
  }
  const counted = new Map(counts.map(({ from, ...count }) => [Date.parse(from), count]))
  const cells = [...new Set([...counted.keys(), ...ahead.keys()])].map((from) => {
    const { coming: more = 0, skipped = 0 } = ahead.get(from) ?? {}
    const count = counted.get(from) ?? none
    const parts = partsOf({ ...count, skipped: count.skipped + skipped }, more)
    return { from, parts, count: parts.reduce((sum, part) => sum + part.count, 0) }
  })
  const most = Math.max(...cells.map(({ count }) => count), 1)
  return cells
    .map((cell) => ({ ...cell, height: Math.max(Math.sqrt(cell.count / most), 0.15) }))
    .toSorted((one, other) => one.from - other.from)
}
