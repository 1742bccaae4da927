import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type StripRun, stripBars } from './strip.ts'

const run = (at: number, durationMs?: number, status: StripRun['status'] = 'succeeded'): StripRun => ({
  id: `run_${at}`,
  status,
  at,
  durationMs,
})

describe('stripBars', () => {
  it('shows the newest runs, oldest first', () => {
    const bars = stripBars([run(3, 10), run(1, 10), run(2, 10)], 2)
    expect(bars.map((bar) => bar.run.at)).toEqual([2, 3])
  })

  it('gives the longest run the whole height and the shortest the least', () => {
    const heights = stripBars([run(1, 100), run(2, 1_000), run(3, 10_000)]).map((bar) => bar.height)
    expect(heights).toEqual([0.25, 0.625, 1])
  })

  it('keeps noise low', () => {
    const heights = stripBars([run(1, 100), run(2, 103), run(3, 98)]).map((bar) => bar.height)
    expect(Math.max(...heights)).toBeLessThan(0.35)
  })

  it('gives a run without a duration a height of its own', () => {
    expect(stripBars([run(1, undefined, 'skipped')])).toMatchObject([{ meaning: 'quiet', height: 0.45 }])
  })

  it('is empty for a job that never ran', () => {
    expect(stripBars([])).toEqual([])
  })

  it('never leaves the strip', () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.double({ min: 0, max: 1e9, noNaN: true }), { nil: undefined })),
        (durations) => {
          for (const bar of stripBars(durations.map((duration, index) => run(index, duration)))) {
            expect(bar.height).toBeGreaterThanOrEqual(0.25)
            expect(bar.height).toBeLessThanOrEqual(1.000001)
          }
        },
      ),
    )
  })
})
