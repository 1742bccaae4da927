import type { Forecast } from '@meridian/sdk'

/** The axis of a forecast: columns of equal width, the first of which may begin before now. */
export interface Axis {
  from: number
  to: number
  columnMs: number
  count: number
  /** The slices that were counted; a column holds some of them. */
  sliceMs: number
}

/** Starts and work, column by column. */
export interface Load {
  capacity: number | null
  /** The most starts in one slice of each column. */
  starts: number[]
  /** The most that goes on at once. */
  running: number[]
  /** All starts of the whole time. */
  sum: number
  most: { at: number; count: number }
  fullest: { at: number; running: number }
}

/** The axis over the slices of a forecast. Columns lie on round times, so that a full hour begins one. */
export function axisOf(forecast: Pick<Forecast, 'from' | 'bucketSeconds' | 'total'>, columnMs: number): Axis {
  const sliceMs = forecast.bucketSeconds * 1_000
  const begin = Date.parse(forecast.from)
  const end = begin + forecast.total.starts.length * sliceMs
  const from = Math.floor(begin / columnMs) * columnMs
  const count = Math.max(1, Math.ceil((end - from) / columnMs))
  return { from, to: from + count * columnMs, columnMs, count, sliceMs }
}

/** A series, drawn in the columns of an axis. */
export function loadOf({ capacity, starts, running }: Forecast['total'], axis: Axis, firstSliceAt: number): Load {
  const load: Load = {
    capacity,
    starts: new Array<number>(axis.count).fill(0),
    running: new Array<number>(axis.count).fill(0),
    sum: 0,
    most: { at: firstSliceAt, count: 0 },
    fullest: { at: firstSliceAt, running: 0 },
  }
  for (const [slice, count] of starts.entries()) {
    const at = firstSliceAt + slice * axis.sliceMs
    const column = Math.min(Math.floor((at - axis.from) / axis.columnMs), axis.count - 1)
    const going = running[slice] ?? 0
    load.sum += count
    load.starts[column] = Math.max(load.starts[column] ?? 0, count)
    load.running[column] = Math.max(load.running[column] ?? 0, going)
    if (count > load.most.count) load.most = { at, count }
    if (going > load.fullest.running) load.fullest = { at, running: going }
  }
  return load
}

/** The outline of columns as an SVG path in a box of `axis.count` by 1, from the bottom up; heights are 0 to 1. */
export function outline(heights: readonly number[]): string {
  let path = ''
  let height = 0
  for (const [column, next] of heights.entries()) {
    if (next === height) continue
    if (height === 0) path += `M${column} 1V${round(1 - next)}`
    else path += `H${column}V${round(1 - next)}${next === 0 ? 'Z' : ''}`
    height = next
  }
  return height === 0 ? path : `${path}H${heights.length}V1Z`
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000
