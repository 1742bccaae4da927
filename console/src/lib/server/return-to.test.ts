import { describe, expect, it } from 'vitest'
import { safeReturnTo } from './return-to.ts'

const origin = 'https://console.example'

describe('safeReturnTo', () => {
  it.each(['/', '/acme/billing/runs?status=failed#top', '/a/%2F%2Fevil.example'])('keeps %s', (path) => {
    expect(safeReturnTo(path, origin)).toBe(path)
  })

  it.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '\t//evil.example',
    '/\n/evil.example',
    ' //evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/a/..//evil.example',
    'javascript:alert(1)',
    'https:evil.example',
    'evil.example',
    '',
  ])('O-49: sends %j home', (value) => {
    expect(safeReturnTo(value, origin)).toBe('/')
  })

  it('sends a missing value home', () => {
    expect(safeReturnTo(null, origin)).toBe('/')
    expect(safeReturnTo(undefined, origin)).toBe('/')
  })
})
