import { describe, expect, it } from 'vitest'
import { bandColumns, bandTicks } from './band.ts'

const now = Date.parse('2026-11-29T12:00:00Z')
const minute = 60_000
const past = (minutesAgo: number, succeeded: number, failed = 0, other = 0) => ({
  at: now - minutesAgo * minute,
  succeeded,
  failed,
  other,
})
const start = (minutesAhead: number, jobId = 'job_1') => ({ at: now + minutesAhead * minute, jobId })

const none = { counts: [], starts: [] }
const slice = (minutesAhead: number, count: number) => ({
  from: now + minutesAhead * minute,
  to: now + (minutesAhead + 30) * minute,
  count,
})

describe('bandColumns', () => {
  it('has a column for every half hour of 48 hours', () => {
    const columns = bandColumns(now, [], none)
    expect(columns).toHaveLength(96)
    expect(columns[48]?.start).toBe(now)
    expect(columns.every((column) => column.height === 0)).toBe(true)
  })

  it('puts what ended before now and what starts after it, edges included', () => {
    const columns = bandColumns(now, [past(1, 1), past(30, 1), past(1440, 1), past(1441, 1)], {
      counts: [slice(0, 1), slice(1410, 3), slice(1440, 9)],
      starts: [],
    })
    expect(columns[47]?.succeeded).toBe(2)
    expect(columns[0]?.succeeded).toBe(1)
    expect(columns[48]?.coming).toBe(1)
    expect(columns[95]?.coming).toBe(3)
  })

  it('keeps few visible beside many', () => {
    const columns = bandColumns(now, [past(10, 10_000), past(100, 0, 1)], none)
    expect(columns[47]?.height).toBe(1)
    expect(columns[44]).toMatchObject({ height: 0.08, failedShare: 1 })
  })

  it('scales the future by itself', () => {
    const columns = bandColumns(now, [past(10, 10_000)], { counts: [slice(0, 1)], starts: [] })
    expect(columns[48]?.height).toBe(1)
  })

  it('takes slices that begin a minute later for what they are', () => {
    const columns = bandColumns(now, [], { counts: [slice(1, 5), slice(31, 7)], starts: [] })
    expect(columns.slice(48, 51).map(({ coming }) => coming)).toEqual([5, 7, 0])
  })

  it('names a collision only when five jobs start in one minute', () => {
    const four = Array.from({ length: 4 }, (_, index) => start(5, `job_${index}`))
    expect(bandColumns(now, [], { counts: [], starts: [...four, start(5, 'job_0')] })[48]?.collision).toBe(0)
    expect(bandColumns(now, [], { counts: [], starts: [...four, start(5, 'job_9')] })[48]?.collision).toBe(5)
  })
})

describe('bandTicks', () => {
  it('follow the clock of the zone', () => {
    const labels = bandTicks(now, now + 24 * 3_600_000, 'Asia/Kolkata').map((tick) => tick.label)
    expect(labels).toEqual(['18:00', '00:00', '06:00', '12:00'])
  })

  it('stay on the zone clock over a change', () => {
    const from = Date.parse('2026-03-28T20:00:00Z')
    const ticks = bandTicks(from, from + 24 * 3_600_000, 'Europe/London')
    expect(ticks.map((tick) => tick.label)).toEqual(['00:00', '06:00', '12:00', '18:00'])
    expect((ticks[1]?.at ?? 0) - (ticks[0]?.at ?? 0)).toBe(5 * 3_600_000)
  })
})
