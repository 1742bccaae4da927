import { type Bar, bars } from './bars.ts'
import type { Sample } from './benchmark.ts'
import { median } from './statistics.ts'

/** How Meridian stands against one bar. */
export interface Verdict {
  bar: Bar
  value: number
  passed: boolean
  reachedAim: boolean
}

const keyOf = ({ name, metric }: { name: string; metric?: string }) =>
  metric === undefined ? name : `${name}.${metric}`

/** The line of one sample for programs: one object a line, one line a round. */
export function toJsonLine(sample: Sample): string {
  const { contender, value, unit, round } = sample
  return JSON.stringify({ name: keyOf(sample), contender, value, unit, round })
}

/** A table: each figure as median [smallest-largest] over the rounds. */
export function formatTable(samples: readonly Sample[]): string {
  const rows = [...Map.groupBy(samples, (sample) => `${keyOf(sample)}\0${sample.contender}`).values()].map((group) => {
    const values = group.map(({ value }) => value)
    const [first] = group
    const spread = values.length > 1 ? ` [${round(Math.min(...values))}-${round(Math.max(...values))}]` : ''
    return [
      first === undefined ? '' : keyOf(first),
      first?.contender ?? '',
      `${round(median(values))}${spread}`,
      first?.unit ?? '',
    ]
  })
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n')
}

/** Judges every bar that has figures. A ratio is the median of the ratios of each round. */
export function judge(samples: readonly Sample[]): Verdict[] {
  return bars.flatMap((bar) => {
    const ours = samples.filter((sample) => keyOf(sample) === keyOf(bar) && sample.contender === 'meridian')
    const values = ours.flatMap((sample) => {
      if (bar.relativeTo === undefined) return [sample.value]
      const theirs = samples.find(
        (other) => keyOf(other) === keyOf(bar) && other.contender === bar.relativeTo && other.round === sample.round,
      )
      return theirs === undefined ? [] : [sample.value / theirs.value]
    })
    if (values.length === 0) return []
    const value = median(values)
    return [
      {
        bar,
        value,
        passed: value >= (bar.atLeast ?? -Infinity) && value <= (bar.atMost ?? Infinity),
        reachedAim: bar.atLeast === undefined ? value <= bar.aim : value >= bar.aim,
      },
    ]
  })
}

/** One line a bar: what was asked, what was reached. */
export function formatVerdict({ bar, value, passed, reachedAim }: Verdict): string {
  const asked = bar.atLeast === undefined ? `<= ${bar.atMost}` : `>= ${bar.atLeast}`
  const against = bar.relativeTo === undefined ? '' : ` x ${bar.relativeTo}`
  const word = reachedAim ? 'aim ' : passed ? 'ok  ' : 'FAIL'
  return `${word}  ${keyOf(bar)}: ${round(value)}${against} (asked ${asked}${against}, aim ${bar.aim})`
}

function round(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-GB')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}
