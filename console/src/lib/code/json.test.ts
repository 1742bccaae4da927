import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonLines, prettyJson } from './json.ts'

describe('jsonLines', () => {
  it('tells keys from texts', () => {
    expect(
      jsonLines('{"a": "b:c", "n": -1.5e3, "t": true}')[0]?.filter(({ kind }) => !['mark', 'space'].includes(kind)),
    ).toEqual([
      { kind: 'key', text: '"a"' },
      { kind: 'text', text: '"b:c"' },
      { kind: 'key', text: '"n"' },
      { kind: 'number', text: '-1.5e3' },
      { kind: 'key', text: '"t"' },
      { kind: 'word', text: 'true' },
    ])
  })

  it('loses no character of any text', () => {
    const same = (text: string) => {
      const lines = jsonLines(text).map((line) => line.map((token) => token.text).join(''))
      expect(lines.join('\n')).toBe(text)
    }
    fc.assert(fc.property(fc.json(), (text) => same(JSON.stringify(JSON.parse(text), null, 2))))
    fc.assert(fc.property(fc.string(), (text) => same(text)))
  })
})

describe('prettyJson', () => {
  it('indents JSON', () => {
    expect(prettyJson('{"a":1}')).toEqual({ text: '{\n  "a": 1\n}', isJson: true })
  })

  it('leaves other text and numbers it cannot hold as they are', () => {
    expect(prettyJson('<p>no</p>')).toEqual({ text: '<p>no</p>', isJson: false })
    expect(prettyJson('{"id":12345678901234567890}')).toEqual({ text: '{"id":12345678901234567890}', isJson: true })
  })
})
