import { describe, expect, it } from 'vitest'
import { scheduleWords } from './words.ts'

const cron = (line: string) => ({ type: 'cron', cron: line, timezone: 'UTC' }) as const

describe('scheduleWords', () => {
  it.each([
    ['* * * * *', 'every minute'],
    ['*/15 * * * *', 'every 15 min'],
    ['5 * * * *', 'every hour at :05'],
    ['0 */6 * * *', 'every 6 h'],
    ['25 6 * * *', 'every day at 06:25'],
    ['0 9 * * 1-5', 'weekdays at 09:00'],
    ['0 9 * * 1,4', 'Mon, Thu at 09:00'],
    ['0 0 1 * *', 'day 1 of the month at 00:00'],
    ['0 0 L * *', 'last day of the month at 00:00'],
  ])('%s is %s', (line, text) => {
    expect(scheduleWords(cron(line))).toEqual({ text, isCode: false })
  })

  it('shows the line where no sentence is shorter', () => {
    expect(scheduleWords(cron('30 1 1-7 3 SUN'))).toEqual({ text: '30 1 1-7 3 SUN', isCode: true })
  })

  it('covers the other kinds', () => {
    expect(scheduleWords({ type: 'every', every: 'PT1H30M' }).text).toBe('every 90 minutes')
    expect(scheduleWords({ type: 'at', at: '2026-12-24T18:00:00.000Z' }).text).toBe('once, 2026-12-24 18:00')
    expect(scheduleWords({ type: 'rrule', rrule: 'RRULE:FREQ=WEEKLY', timezone: 'UTC' })).toEqual({
      text: 'FREQ=WEEKLY',
      isCode: true,
    })
    expect(scheduleWords(null).text).toBe('on demand')
  })
})
