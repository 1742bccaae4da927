import type { Expectation } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { expectFormOf, expectOf, newCheck, pointerOf } from './expect-form.ts'

describe('the form of what is expected of an answer', () => {
  it.each<[string, Expectation | undefined]>([
    ['nothing', undefined],
    ['statuses', { status: ['200', '3xx'] }],
    ['patterns', { matches: ['^ok', ' padded '], notMatches: ['error'] }],
    [
      'values',
      {
        json: [
          { path: '$.state', equals: 'done' },
          { path: '$.count', equals: 3 },
          { path: '$.code', equals: '3' },
          { path: '$.note', equals: '' },
          { path: '$.pad', equals: ' a' },
          { path: '$.ok', notEquals: false },
          { path: '$.gone', equals: null },
          { path: '$.id', matches: '^[a-z]+$' },
          { path: '$.error', exists: false },
          { path: '$.data[0]', exists: true },
        ],
      },
    ],
  ])('opens and saves %s unchanged', (_, expectation) => {
    expect(expectOf(expectFormOf(expectation))).toEqual({ expect: expectation, faults: [] })
  })

  it('takes several conditions about one value apart', () => {
    const { checks } = expectFormOf({ json: [{ path: '$.a', notEquals: 1, matches: '1' }] })
    expect(checks.map(({ is, value }) => [is, value])).toEqual([
      ['notEquals', '1'],
      ['matches', '1'],
    ])
  })

  it('says what a check lacks, where the API would', () => {
    const checks = [
      { ...newCheck, path: '$.a', value: 'x' },
      { ...newCheck, of: 'body' as const, is: 'matches' as const, value: 'x' },
      newCheck,
      { ...newCheck, of: 'body' as const, is: 'notMatches' as const },
      { ...newCheck, of: 'body' as const, is: 'matches' as const },
    ]
    expect(checks.map((_, index) => pointerOf(checks, index))).toEqual(
      ['json/0', 'matches/0', 'json/1', 'notMatches/0', 'matches/1'].map((place) => `/target/expect/${place}`),
    )
    expect(expectOf({ status: '', checks }).faults.map(({ pointer }) => pointer)).toEqual(
      ['json/1', 'notMatches/0', 'matches/1'].map((place) => `/target/expect/${place}`),
    )
  })
})
