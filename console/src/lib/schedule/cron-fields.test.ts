import { describe, expect, it } from 'vitest'
import { cronFields, cronParts, explainPart, partAt } from './cron-fields.ts'

const [minute, hour, monthDay, month, weekday] = cronFields(5)

describe('explainPart', () => {
  it.each([
    ['*', minute, 'every minute'],
    ['25', minute, 'at minute 25'],
    ['*/15', minute, 'every 15 minutes'],
    ['0,30', minute, 'at minute 0 and at minute 30'],
    ['9-17', hour, 'from 9 to 17'],
    ['9-17/2', hour, 'every 2 hours from 9 to 17'],
    ['L', monthDay, 'the last day of the month'],
    ['LW', monthDay, 'the last weekday of the month'],
    ['15W', monthDay, 'the weekday nearest to day 15'],
    ['1,7', month, 'January and July'],
    ['JAN-MAR', month, 'from January to March'],
    ['1-5', weekday, 'from Monday to Friday'],
    ['7', weekday, 'Sunday'],
    ['5L', weekday, 'the last Friday of the month'],
    ['MON#2', weekday, 'the second Monday of the month'],
    ['H', minute, "a minute spread by the job's name"],
    ['?', monthDay, 'every day of the month'],
    ['*/0', minute, '"*/0", which is not a step'],
    ['soon', weekday, '"soon"'],
  ])('%s', (text, field, words) => {
    expect(field && explainPart(text, field)).toBe(words)
  })
})

describe('the parts of a line', () => {
  it('know their places', () => {
    expect(cronParts('  25 6  * * *').map(({ text, start }) => [text, start])).toEqual([
      ['25', 2],
      ['6', 5],
      ['*', 8],
      ['*', 10],
      ['*', 12],
    ])
  })

  it('belong to the caret that is in or just behind them', () => {
    const line = '25 6 * * *'
    expect([0, 2, 3, 4, 5, 10].map((caret) => partAt(line, caret))).toEqual([0, 0, 1, 1, 2, 4])
    expect(partAt('', 0)).toBe(0)
  })

  it('begin with seconds when there are six', () => {
    expect(cronFields(6)[0]?.name).toBe('Second')
    expect(cronFields(5)[0]?.name).toBe('Minute')
  })
})
