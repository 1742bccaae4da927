import { describe, expect, test } from 'vitest'
import { type Expectation, expectationValue, isExpectedStatus, unmetExpectation } from './expectation.ts'
import { compilePath, valueAt } from './response-path.ts'

const responseOf = (body: unknown, more: { truncated?: boolean; headers?: Record<string, string> } = {}) => ({
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  truncated: false,
  headers: {},
  ...more,
})
const body = { state: 'done', count: 3, items: [{ id: 1 }, { id: 2 }], 'a name': null }
const unmet = (expectation: Expectation, response = responseOf(body)) => unmetExpectation(expectation, response)

describe('a status', () => {
  test.each([
    [undefined, 204, true],
    [undefined, 404, false],
    [['200'], 204, false],
    [['2xx', '404'], 404, true],
    [['3xx'], 302, true],
  ])('of %j: %d is a success: %s', (status, actual, isSuccess) => {
    expect(isExpectedStatus(actual, status && { status })).toBe(isSuccess)
  })
})

describe('a body', () => {
  test.each<[Expectation, string | null]>([
    [{ matches: ['"state":\\s*"done"'] }, null],
    [{ matches: ['pending'] }, 'The body does not match pending.'],
    [{ notMatches: ['(?i)ERROR'] }, null],
    [{ notMatches: ['done'] }, 'The body matches done.'],
    [{ json: [{ path: '$.state', equals: 'done' }] }, null],
    [{ json: [{ path: '$.state', equals: 'ready' }] }, '$.state is "done", not "ready".'],
    [{ json: [{ path: '$.count', equals: '3' }] }, '$.count is 3, not "3".'],
    [{ json: [{ path: "$['a name']", equals: null }] }, null],
    [{ json: [{ path: '$.count', notEquals: 3 }] }, '$.count is 3.'],
    [{ json: [{ path: '$.items[-1].id', matches: '^2$' }] }, null],
    [{ json: [{ path: '$.items', matches: '.' }] }, '$.items is [{"id":1},{"id":2}], which does not match ..'],
    [{ json: [{ path: '$.error', exists: false }] }, null],
    [{ json: [{ path: '$.state', exists: false }] }, 'There is a value at $.state.'],
    [{ json: [{ path: '$.error', exists: true }] }, 'There is no value at $.error.'],
    [{ json: [{ path: '$.error', notEquals: 'x' }] }, 'There is no value at $.error.'],
  ])('that is held against %j: %s', (expectation, sentence) => expect(unmet(expectation)).toBe(sentence))

  test('that is no JSON, is cut or is encoded says so', () => {
    const expectation = { json: [{ path: '$.a', exists: true }] }
    expect(unmet(expectation, responseOf('<html>'))).toBe('The body is not JSON.')
    expect(unmet(expectation, responseOf({}, { truncated: true }))).toMatch(/longer than what is kept/)
    expect(unmet(expectation, responseOf({}, { headers: { 'content-encoding': 'gzip' } }))).toMatch(/encoded \(gzip\)/)
    expect(unmet({ status: ['200'] }, responseOf('', { truncated: true }))).toBeNull()
  })

  test('does not find what every object has', () => {
    expect(unmet({ json: [{ path: '$.constructor', exists: false }] })).toBeNull()
  })
})

test.each([
  ['$', []],
  ['$.a.b_1', ['a', 'b_1']],
  ["$['a']['it\\'s \"x\"'][0]", ['a', 'it\'s "x"', 0]],
  ['$["a\\u0062"][-1]', ['ab', -1]],
  ['$.über', ['über']],
])('%s leads through %j', (text, steps) => expect(compilePath(text)).toEqual(steps))

test.each(['a', '$a', '$.', '$..a', '$.*', '$[*]', '$[1:2]', '$[?@.a]', "$['a]", '$[01]', '$.1a', '$.a '])(
  '%s is no path of one value',
  (text) => expect(compilePath(text)).toBeNull(),
)

test('the root is a value', () => expect(valueAt([1], [])).toEqual([1]))

test.each([
  [{ matches: ['(?<=a)b'] }, ['matches', 0]],
  [{ matches: ['('] }, ['matches', 0]],
  [{ status: ['ok'] }, ['status', 0]],
  [{ json: [{ path: '$.a' }] }, ['json', 0]],
  [{ json: [{ path: '$..a', exists: true }] }, ['json', 0, 'path']],
])('%j is refused where it is wrong', (value, path) => {
  expect(expectationValue.safeParse(value).error?.issues.map((issue) => issue.path)).toEqual([path])
})

test('a pattern that would take another engine for ever takes no time', () => {
  expect(unmet({ matches: ['(a+)+$'] }, responseOf(`${'a'.repeat(20_000)}b`))).toBe('The body does not match (a+)+$.')
})
