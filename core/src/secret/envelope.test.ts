import { createSecretKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type DataKey, envelopeKeyVersion, open, seal } from './envelope.ts'

const dataKey = (version = 1): DataKey => ({ version, key: createSecretKey(randomBytes(32)) })

const refused = 'unable to authenticate data'

describe('an envelope', () => {
  test('gives back what was put in, whatever it was', () => {
    const key = dataKey(7)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.string(), (bytes, context) => {
        const sealed = seal(key, context, Buffer.from(bytes))
        expect(envelopeKeyVersion(sealed)).toBe(7)
        expect(open(key.key, context, sealed).equals(Buffer.from(bytes))).toBe(true)
      }),
    )
  })

  test('never looks the same twice, and never shows its content', () => {
    const key = dataKey()
    const plain = Buffer.from('the same secret every time')
    const sealed = Array.from({ length: 200 }, () => seal(key, 'row', plain))
    expect(new Set(sealed.map((each) => each.toString('hex'))).size).toBe(200)
    expect(new Set(sealed.map((each) => each.subarray(3, 15).toString('hex'))).size).toBe(200)
    expect(sealed.some((each) => each.includes('secret'))).toBe(false)
  })

  test('does not open when any single bit of it was changed', () => {
    const key = dataKey()
    const sealed = seal(key, 'row', Buffer.from('plain'))
    for (let bit = 3 * 8; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(() => open(key.key, 'row', changed), `bit ${bit}`).toThrow(refused)
    }
  })

  test('does not open for another row, tenant or key', () => {
    const key = dataKey()
    const sealed = seal(key, 'tenant-one/row', Buffer.from('plain'))
    expect(() => open(key.key, 'tenant-two/row', sealed)).toThrow(refused)
    expect(() => open(key.key, 'tenant-one/other', sealed)).toThrow(refused)
    expect(() => open(dataKey().key, 'tenant-one/row', sealed)).toThrow(refused)
  })

  test('of another form, or cut short, is none', () => {
    const sealed = seal(dataKey(), 'row', Buffer.alloc(0))
    expect(() => envelopeKeyVersion(Buffer.from([2, ...sealed.subarray(1)]))).toThrow('not an envelope')
    for (let length = 0; length < sealed.length; length++)
      expect(() => envelopeKeyVersion(sealed.subarray(0, length))).toThrow('not an envelope')
  })
})
