import { expect, it } from 'vitest'
import { calendarWords } from './calendars.ts'

it('says which calendars a schedule follows, and what becomes of the rest', () => {
  expect(calendarWords({})).toBe('')
  expect(calendarWords({ onlyOn: ['office', 'open'] })).toBe('only on office and open')
  expect(calendarWords({ onlyOn: ['office'], notOn: ['feasts', 'closed'], roll: 'next' })).toBe(
    'only on office, not on feasts or closed, otherwise at the next open time',
  )
})
