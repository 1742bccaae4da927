import { expect, test } from 'vitest'
import type { Sample } from './benchmark.ts'
import { formatVerdict, judge, toJsonLine } from './report.ts'
import { median, percentile, slope } from './statistics.ts'

const drain = (contender: string, round: number, value: number): Sample => ({
  name: 'http-runs',
  contender,
  round,
  value,
  unit: 'runs/s',
})

const verdictOf = (samples: Sample[]) => judge(samples).find(({ bar }) => bar.name === samples[0]?.name)

test('a ratio is taken inside each round, and the median of them is judged', () => {
  // The machine got slower and slower; only the last round was really bad.
  const samples = [
    drain('meridian', 1, 9_000),
    drain('graphile-worker', 1, 10_000),
    drain('meridian', 2, 4_000),
    drain('graphile-worker', 2, 5_000),
    drain('meridian', 3, 1_000),
    drain('graphile-worker', 3, 4_000),
  ]
  const verdict = verdictOf(samples)
  expect(verdict?.value).toBeCloseTo(0.8)
  expect(verdict).toMatchObject({ passed: true, reachedAim: false })
})

test('short of the bar is a failure', () => {
  const verdict = verdictOf([drain('meridian', 1, 600), drain('graphile-worker', 1, 1_000)])
  expect(verdict).toMatchObject({ passed: false, reachedAim: false })
  if (verdict === undefined) throw new Error('no verdict')
  expect(formatVerdict(verdict)).toBe('FAIL  http-runs: 0.60 x graphile-worker (asked >= 0.7 x graphile-worker, aim 1)')
})

test('a bar without figures is not judged', () => {
  expect(judge([drain('meridian', 1, 600)])).toEqual([])
})

test('a fixed bar is judged by the median of the rounds', () => {
  const late = (round: number, value: number): Sample => ({
    name: 'lateness',
    metric: 'ahead-100.p99',
    contender: 'meridian',
    round,
    value,
    unit: 'ms',
  })
  expect(verdictOf([late(1, 4), late(2, 40), late(3, 6)])).toMatchObject({ value: 6, passed: true, reachedAim: false })
})

test('a line for programs names figure, contender, value and unit', () => {
  expect(JSON.parse(toJsonLine({ ...drain('bullmq', 2, 5), metric: 'cpu' }))).toEqual({
    name: 'http-runs.cpu',
    contender: 'bullmq',
    value: 5,
    unit: 'runs/s',
    round: 2,
  })
})

test('medians and percentiles', () => {
  expect([median([3, 1, 2]), median([4, 1]), median([])]).toEqual([2, 2.5, Number.NaN])
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1)
  expect([50, 95, 99, 100].map((percent) => percentile(hundred, percent))).toEqual([50, 95, 99, 100])
  expect(percentile([7], 1)).toBe(7)
})

test('growth is the slope of the line that fits best', () => {
  expect(slope([0, 1, 2, 3].map((x) => [x, 7 + 2 * x]))).toBeCloseTo(2)
  // A saw keeps going up and down, and goes nowhere.
  expect(Math.abs(slope(Array.from({ length: 400 }, (_, x) => [x, x % 4])))).toBeLessThan(0.001)
  expect(slope([[1, 1]])).toBeNaN()
})
