import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toCurl } from './curl.ts'

describe('toCurl', () => {
  it('writes one option a line', () => {
    expect(
      toCurl({
        method: 'POST',
        url: 'https://example.com/hooks/nightly?a=1',
        headers: { 'content-type': 'application/json' },
        body: '{"it\'s":1}',
      }),
    ).toBe(
      [
        `curl 'https://example.com/hooks/nightly?a=1'`,
        `--header 'content-type: application/json'`,
        `--data-raw '{"it'\\''s":1}'`,
      ]
        .join(' \\\n  ')
        .replace('--header', `--request POST \\\n  --header`),
    )
  })

  it('says nothing about a plain GET', () => {
    expect(toCurl({ method: 'GET', url: 'https://example.com/', headers: {}, body: undefined })).toBe(
      'curl https://example.com/',
    )
  })

  it('gives a shell exactly the texts it was given', () => {
    const text = fc.string({ minLength: 1 }).filter((value) => !value.includes('\0'))
    fc.assert(
      fc.property(text, text, (url, body) => {
        const command = toCurl({ method: 'POST', url, headers: {}, body }).replace(/^curl/, `printf '%s\\0'`)
        const seen = execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' }).split('\0')
        expect([seen[0], seen.at(-2)]).toEqual([url, body])
      }),
      { numRuns: 40 },
    )
  })
})
