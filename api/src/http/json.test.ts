import { AppError } from '@meridian/core/kernel/errors'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson, parseJson } from './json.ts'

const refusalOf = (text: string): string => {
  try {
    parseJson(text)
  } catch (error) {
    if (error instanceof AppError && error.code === 'malformed-request') return error.message
    throw error
  }
  return 'nothing'
}

/** Objects as a parser makes them, without the key that is refused. */
const documents = fc.json({ maxDepth: 6 }).filter((text) => !text.includes('__proto__'))

describe('parseJson', () => {
  test('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(documents, (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test.each([
    ['{"a":1,"a":2}', /twice/],
    ['{"a":{"b":1,"c":[{"d":1,"d":1}]}}', /twice/],
    ['{"a":1,"\\u0061":2}', /twice/],
    ['{"__proto__":{"x":1}}', /__proto__/],
    ['{"a":[{"__proto_\\u005f":1}]}', /__proto__/],
    [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, /nested/],
    [`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, /nested/],
    ['', /empty/],
    ['{"a":', /too early/],
    ['{"a": x}', /unexpected "x"/],
    ['{\n  "a": 1,\n  b: 2}', /line 3, column 3/],
    ['{"a":1} x', /unexpected character/],
  ])('refuses %j', (text, reason) => {
    expect(refusalOf(text)).toMatch(reason)
  })

  test('is not misled by what strings hold', () => {
    const tricky = { 'a:b"\\': '{"x":1,"x":2}', c: '[[[[::::', 'd\\': '\\"', e: ':' }
    expect(parseJson(JSON.stringify(tricky))).toEqual(tricky)
  })

  test('leaves the prototype of all objects alone', () => {
    refusalOf('{"__proto__":{"isAdmin":true}}')
    refusalOf('{"constructor":{"prototype":{"isAdmin":true}}}')
    expect('isAdmin' in {}).toBe(false)
  })
})

describe('canonicalJson', () => {
  test('is the same whatever the order of keys', () => {
    const shuffled = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffled)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, item]) => [key, shuffled(item)]),
      )
    }
    fc.assert(
      fc.property(documents, (text) => {
        const value: unknown = JSON.parse(text)
        expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value))
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('tells different documents apart', () => {
    expect(canonicalJson({ a: 1, b: [1, 2] })).not.toBe(canonicalJson({ a: 1, b: [2, 1] }))
    expect(canonicalJson({ a: undefined })).toBe('{}')
    expect(canonicalJson({ at: new Date(1) })).not.toBe(canonicalJson({ at: new Date(2) }))
  })
})
