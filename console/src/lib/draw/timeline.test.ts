import { describe, expect, it } from 'vitest'
import { type TimelineAttempt, timeline } from './timeline.ts'

const attempt = (
  number: number,
  [dueAt, queuedAt, startedAt, finishedAt]: (number | undefined)[],
): TimelineAttempt => ({
  number,
  dueAt: dueAt ?? 0,
  queuedAt,
  startedAt,
  finishedAt,
  outcome: finishedAt === undefined ? undefined : 'failed',
})

describe('timeline', () => {
  it('draws waiting, queued and running one after the other', () => {
    const { lanes, from, to } = timeline([attempt(1, [1_000, 1_100, 1_200, 2_000])], 9_000)
    expect([from, to]).toEqual([1_000, 2_000])
    expect(lanes[0]?.segments.map(({ phase, left, width }) => [phase, left, width])).toEqual([
      ['waiting', 0, 10],
      ['queued', 10, 10],
      ['running', 20, 80],
    ])
  })

  it('puts all attempts on one axis, in their order', () => {
    const { lanes } = timeline([attempt(2, [3_000, 3_000, 3_000, 4_000]), attempt(1, [0, 0, 0, 1_000])], 9_000)
    expect(lanes.map((lane) => lane.attempt.number)).toEqual([1, 2])
    expect(lanes[1]?.segments.at(-1)).toMatchObject({ left: 75, width: 25 })
  })

  it('lets the last segment grow to now', () => {
    const { lanes, to } = timeline([attempt(1, [0, 100, 200, undefined])], 1_000)
    expect(to).toBe(1_000)
    expect(lanes[0]?.segments.at(-1)).toMatchObject({ phase: 'running', open: true, width: 80 })
  })

  it('skips what was never recorded', () => {
    const { lanes } = timeline([attempt(1, [0, undefined, 500, 1_000])], 9_000)
    expect(lanes[0]?.segments.map((segment) => segment.phase)).toEqual(['waiting', 'running'])
  })

  it('draws nothing for a run that is not due yet', () => {
    expect(timeline([attempt(1, [5_000, undefined, undefined, undefined])], 1_000).lanes).toEqual([])
    expect(timeline([], 1_000)).toEqual({ from: 1_000, to: 1_000, lanes: [], ticks: [] })
  })

  it('has a few round ticks whatever the length', () => {
    for (const length of [1, 7, 84, 1_240, 59_000, 86_400_000]) {
      const { ticks } = timeline([attempt(1, [0, 0, 0, length])], 1)
      expect(ticks.length).toBeGreaterThan(1)
      expect(ticks.length).toBeLessThanOrEqual(7)
      expect(ticks.at(-1)?.left).toBeLessThanOrEqual(100)
    }
  })
})
