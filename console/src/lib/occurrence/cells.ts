import type { OccurrenceCounts } from '@meridian/sdk'
import type { Kind } from './entries.ts'

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

/** What comes, in the same slices as the ledger is counted in. */
export interface Coming {
  /** When the slice begins. */
  from: string
  coming: number
  skipped: number
}

/** The counted past and what comes, slice by slice. */
export function cellsOf(counts: readonly Count[], ahead: readonly Coming[]): Cell[] {
  const coming = Map.groupBy(ahead, ({ from }) => Date.parse(from))
  const counted = new Map(counts.map(({ from, ...count }) => [Date.parse(from), count]))
  const cells = [...new Set([...counted.keys(), ...coming.keys()])].map((from) => {
    const count = counted.get(from) ?? none
    const own = coming.get(from) ?? []
    const skipped = own.reduce((sum, each) => sum + each.skipped, count.skipped)
    const more = own.reduce((sum, each) => sum + each.coming, 0)
    const parts = partsOf({ ...count, skipped }, more)
    return { from, parts, count: parts.reduce((sum, part) => sum + part.count, 0) }
  })
  const most = Math.max(...cells.map(({ count }) => count), 1)
  return cells
    .map((cell) => ({ ...cell, height: Math.max(Math.sqrt(cell.count / most), 0.15) }))
    .toSorted((one, other) => one.from - other.from)
}
