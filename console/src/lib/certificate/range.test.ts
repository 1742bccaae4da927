import { expect, it } from 'vitest'
import { instantsOf, readDays } from './range.ts'

const read = (query: string) => readDays(new URLSearchParams(query), '2026-11-30')

it('is the last 30 days, another length, or the days that were picked', () => {
  expect(read('')).toEqual({ first: '2026-11-01', last: '2026-11-30', length: 30 })
  expect(read('last=7')).toMatchObject({ first: '2026-11-24', length: 7 })
  expect(read('from=2026-01-01&to=2026-01-31')).toEqual({ first: '2026-01-01', last: '2026-01-31', length: undefined })
  expect(read('last=9000&from=yesterday')).toMatchObject({ length: 30 })
})

it('holds whole days of the zone', () => {
  expect(instantsOf({ first: '2026-10-25', last: '2026-10-25' }, 'Europe/Berlin')).toEqual({
    from: '2026-10-24T22:00:00.000Z',
    to: '2026-10-25T23:00:00.000Z',
  })
})
