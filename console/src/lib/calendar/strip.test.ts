import { describe, expect, it } from 'vitest'
import { hourShares, stripMarks } from './strip.ts'

const day = (date: string, from: string, until: string) => ({ date, hours: [{ from, until }], holiday: null })

describe('stripMarks', () => {
  it('has a mark for each day, over the end of a month', () => {
    const days = [day('2026-11-30', '00:00', '24:00'), day('2026-12-02', '09:00', '17:00')]
    expect(stripMarks(days, '2026-11-29', 4)).toEqual(['out', 'whole', 'out', 'part'])
  })
})

describe('hourShares', () => {
  it('tells where the hours of a day lie in it', () => {
    expect(hourShares(day('2026-12-02', '06:00', '18:00'))).toEqual([{ from: 0.25, length: 0.5 }])
    expect(hourShares(day('2026-12-02', '00:00', '24:00'))).toEqual([{ from: 0, length: 1 }])
  })
})
