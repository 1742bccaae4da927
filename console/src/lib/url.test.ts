import { describe, expect, it } from 'vitest'
import { listParam, toggled, withParams } from './url.ts'

const url = new URL('https://console.example/acme/billing/runs?status=failed&cursor=abc')

describe('withParams', () => {
  it('changes what it is told, keeps the rest, drops the cursor', () => {
    expect(withParams(url, { last: '1h' })).toBe('/acme/billing/runs?status=failed&last=1h')
    expect(withParams(url, { status: undefined })).toBe('/acme/billing/runs')
    expect(withParams(url, { status: '' })).toBe('/acme/billing/runs')
    expect(withParams(url, { cursor: 'next' })).toBe('/acme/billing/runs?status=failed&cursor=next')
  })

  it('stays readable and correct', () => {
    expect(withParams(url, { status: 'failed,expired', from: '2026-11-29T00:00:00.000Z' })).toBe(
      '/acme/billing/runs?status=failed,expired&from=2026-11-29T00:00:00.000Z',
    )
    const href = withParams(url, { q: 'a&b=c d' })
    expect(new URL(href, url).searchParams.get('q')).toBe('a&b=c d')
  })
})

describe('a list in the URL', () => {
  it('is switched value by value', () => {
    expect(toggled(['failed'], 'running')).toBe('failed,running')
    expect(toggled(['failed', 'running'], 'failed')).toBe('running')
    expect(toggled(['failed'], 'failed')).toBeUndefined()
  })

  it('is empty when it is missing', () => {
    expect(listParam(null)).toEqual([])
    expect(listParam('failed,,running')).toEqual(['failed', 'running'])
  })
})
