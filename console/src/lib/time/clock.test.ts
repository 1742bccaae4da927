import { describe, expect, it } from 'vitest'
import { parseClock, parseEndClock } from './clock.ts'

describe('parseClock', () => {
  it.each([
    ['06:25', '06:25'],
    ['6:25', '06:25'],
    ['625', '06:25'],
    ['1830', '18:30'],
    ['6.25', '06:25'],
    ['6', '06:00'],
    [' 23:59 ', '23:59'],
    ['6:25 pm', '18:25'],
    ['12 am', '00:00'],
    ['12:30pm', '12:30'],
    ['00:00', '00:00'],
  ])('reads %j as %s', (text, clock) => {
    expect(parseClock(text)).toBe(clock)
  })

  it.each(['', '24:00', '6:60', '6:2', 'noon', '13 pm', '0 am', '06:25:30', '-1'])('does not read %j', (text) => {
    expect(parseClock(text)).toBeUndefined()
  })
})

describe('parseEndClock', () => {
  it.each([
    ['24:00', '24:00'],
    ['24', '24:00'],
    ['0:00', '24:00'],
    ['17:30', '17:30'],
  ])('reads %j as %s', (text, clock) => {
    expect(parseEndClock(text)).toBe(clock)
  })

  it.each(['24:01', '25', ''])('does not read %j', (text) => {
    expect(parseEndClock(text)).toBeUndefined()
  })
})
