import { describe, expect, it } from 'vitest'
import { Sealer } from './seal.ts'

const sealer = new Sealer('a secret of at least thirty-two characters', 'test')

describe('Sealer', () => {
  it('opens what it sealed', () => {
    expect(sealer.open(sealer.seal({ token: 'ms_1' }, 'here'), 'here')).toEqual({ token: 'ms_1' })
  })

  it('does not show the value in the sealed text', () => {
    const sealed = Buffer.from(sealer.seal({ token: 'ms_visible' }, 'here'), 'base64url').toString('latin1')
    expect(sealed).not.toContain('ms_visible')
  })

  it('refuses another binding, another purpose, another secret', () => {
    const sealed = sealer.seal('value', 'here')
    expect(sealer.open(sealed, 'there')).toBeUndefined()
    expect(new Sealer('a secret of at least thirty-two characters', 'other').open(sealed, 'here')).toBeUndefined()
    expect(new Sealer('another secret of thirty-two characters', 'test').open(sealed, 'here')).toBeUndefined()
  })

  it('refuses a single flipped bit anywhere', () => {
    const bytes = Buffer.from(sealer.seal('value', 'here'), 'base64url')
    for (let index = 0; index < bytes.length; index += 1) {
      const altered = Buffer.from(bytes)
      altered.writeUInt8(altered.readUInt8(index) ^ 1, index)
      expect(sealer.open(altered.toString('base64url'), 'here')).toBeUndefined()
    }
  })

  it('refuses text that is too short or not base64', () => {
    expect(sealer.open('', 'here')).toBeUndefined()
    expect(sealer.open('!!', 'here')).toBeUndefined()
  })
})
