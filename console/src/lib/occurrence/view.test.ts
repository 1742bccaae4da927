import { describe, expect, it } from 'vitest'
import { edgesOf, neighbour, readView, reshaped, viewParams, viewWords } from './view.ts'

const read = (query: string) => readView(new URLSearchParams(query), '2026-11-30')
const week = { shape: 'timeline', first: '2026-11-27', days: 7 } as const

describe('readView', () => {
  it('is the week around today, unless the URL says otherwise', () => {
    expect(read('')).toEqual(week)
    expect(read('days=1')).toEqual({ shape: 'timeline', first: '2026-11-30', days: 1 })
    expect(read('from=2026-02-28&days=28')).toEqual({ shape: 'timeline', first: '2026-02-28', days: 28 })
    expect(read('view=month')).toEqual({ shape: 'month', first: '2026-11-01', days: 30 })
    expect(read('view=month&from=2028-02-17')).toEqual({ shape: 'month', first: '2028-02-01', days: 29 })
  })

  it('takes nonsense as nothing', () => {
    expect(read('from=2026-13-45&days=9000&view=pie')).toEqual(week)
  })

  it('reads what it writes', () => {
    for (const query of ['', 'days=1', 'from=2026-02-28&days=28', 'view=month&from=2028-02-17']) {
      const params = new URLSearchParams(
        Object.entries(viewParams(read(query))).flatMap(([name, value]) => (value ? [[name, value]] : [])),
      )
      expect(readView(params, '2001-01-01')).toEqual(read(query))
    }
  })
})

describe('views', () => {
  it('go on by their own length', () => {
    expect(neighbour(week, 1).first).toBe('2026-12-04')
    expect(neighbour(week, -1).first).toBe('2026-11-20')
    expect(neighbour({ shape: 'month', first: '2026-12-01', days: 31 }, 1)).toMatchObject({
      first: '2027-01-01',
      days: 31,
    })
    expect(neighbour({ shape: 'month', first: '2026-03-01', days: 31 }, -1)).toMatchObject({
      first: '2026-02-01',
      days: 28,
    })
  })

  it('keep their middle when they change', () => {
    expect(reshaped(week, { days: 1 })).toEqual({ shape: 'timeline', first: '2026-11-30', days: 1 })
    expect(reshaped(week, { shape: 'month' })).toMatchObject({ first: '2026-11-01' })
    expect(reshaped({ shape: 'month', first: '2026-11-01', days: 30 }, { days: 7 }).first).toBe('2026-11-13')
  })

  it('have 25 hours on the day that the clocks go back', () => {
    const { from, to } = edgesOf({ shape: 'timeline', first: '2026-10-25', days: 1 }, 'Europe/Berlin')
    expect(to - from).toBe(25 * 3_600_000)
  })

  it('are named', () => {
    expect(viewWords(week)).toBe('27 Nov – 3 Dec 2026')
    expect(viewWords({ ...week, first: '2026-12-28' })).toBe('28 Dec 2026 – 3 Jan 2027')
    expect(viewWords({ ...week, days: 1 })).toBe('27 Nov 2026')
    expect(viewWords({ shape: 'month', first: '2026-11-01', days: 30 })).toBe('November 2026')
  })
})
