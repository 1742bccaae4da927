import { describe, expect, it } from 'vitest'
import { emptyContents, mergeFile, replaceAt, toggleDate, toggleWeekday, withTimes } from './contents.ts'

describe('the contents of a calendar that is being written', () => {
  it('take a single day and give it back, in order', () => {
    const one = toggleDate(toggleDate(emptyContents, '2026-12-25'), '2026-12-24')
    expect(one.dates).toEqual(['2026-12-24', '2026-12-25'])
    expect(toggleDate(one, '2026-12-24').dates).toEqual(['2026-12-25'])
  })

  it('take the days of a file once', () => {
    const file = { dates: ['2026-12-24', '2026-12-01'], ranges: [{ from: '2026-01-02', until: '2026-01-03' }] }
    const merged = mergeFile(toggleDate(emptyContents, '2026-12-24'), file)
    expect(merged.dates).toEqual(['2026-12-01', '2026-12-24'])
    expect(merged.ranges).toEqual(file.ranges)
    expect(mergeFile(merged, file)).toEqual(merged)
  })

  it('change and lose one line of a list', () => {
    expect(replaceAt(['a', 'b', 'c'], 1, 'x')).toEqual(['a', 'x', 'c'])
    expect(replaceAt(['a', 'b', 'c'], 1, undefined)).toEqual(['a', 'c'])
  })

  it('lose hours with their last day', () => {
    const hours = { days: ['MON' as const], from: '09:00', until: '17:00' }
    expect(toggleWeekday(hours, 'TUE')?.days).toEqual(['MON', 'TUE'])
    expect(toggleWeekday(hours, 'MON')).toBeUndefined()
  })

  it('give a stretch times and take them away', () => {
    const days = { from: '2026-12-27', until: '2026-12-30' }
    const times = withTimes(days, true)
    expect(times).toEqual({ from: '2026-12-27T09:00', until: '2026-12-30T17:00' })
    expect(withTimes(times, false)).toEqual(days)
  })
})
