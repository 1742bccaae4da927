import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromWireId, idPrefixes, isUuid, toWireId, uuidTimeMs, uuidv7, wireIdPattern } from './ids.ts'

const uuid = fc.uuid().map((text) => text.toLowerCase())
const prefix = fc.constantFrom(...idPrefixes)

describe('a new id', () => {
  test('is a UUIDv7 that tells when it was made', () => {
    const nowMs = Date.parse('2026-03-29T01:00:00.123Z')
    const ids = Array.from({ length: 5_000 }, () => uuidv7(nowMs))
    for (const id of ids) {
      expect(isUuid(id)).toBe(true)
      expect(id[14]).toBe('7')
      expect('89ab').toContain(id[19])
    }
    expect(uuidTimeMs(ids[0] ?? '')).toBe(nowMs)
  })

  test('is greater than every one before it, whatever the clock does', () => {
    const ids: string[] = []
    let nowMs = Date.now() + 60_000
    for (let index = 0; index < 20_000; index++) {
      if (index % 5_000 === 0) nowMs -= 10_000
      if (index % 100 === 0) nowMs += 1
      ids.push(uuidv7(nowMs))
    }
    expect(ids).toEqual(ids.toSorted())
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('on the wire', () => {
  test('an id carries its prefix and comes back as it was', () => {
    fc.assert(
      fc.property(prefix, uuid, (kind, id) => {
        const wire = toWireId(kind, id)
        expect(wire).toMatch(wireIdPattern(kind))
        expect(fromWireId(kind, wire)).toBe(id)
      }),
    )
  })

  test('known pairs of the TypeID form', () => {
    expect(toWireId('job', '01890a5d-ac96-774b-bcce-b302099a8057')).toBe('job_01h455vb4pex5vsknk084sn02q')
    expect(toWireId('run', '00000000-0000-0000-0000-000000000000')).toBe('run_00000000000000000000000000')
    expect(toWireId('run', 'ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe('run_7zzzzzzzzzzzzzzzzzzzzzzzzz')
  })

  test('the order of ids is the order of their texts', () => {
    fc.assert(
      fc.property(uuid, uuid, (one, other) => {
        expect(one < other).toBe(toWireId('run', one) < toWireId('run', other))
      }),
    )
  })

  test('anything else is none', () => {
    const good = toWireId('job', uuidv7(Date.now()))
    for (const text of [
      '',
      'job',
      'job_',
      good.slice(4),
      good.replace('job', 'run'),
      good.toUpperCase(),
      `${good}0`,
      good.slice(0, -1),
      `job_8${'0'.repeat(25)}`,
      `job_0${'u'.repeat(25)}`,
      `job_0${'i'.repeat(25)}`,
      ' '.repeat(30),
    ]) {
      expect(fromWireId('job', text), text).toBeNull()
    }
    for (const text of ['', 'x', '01890A5D-AC96-774B-BCCE-B302099A8057', '01890a5dac96774bbcceb302099a8057']) {
      expect(isUuid(text), text).toBe(false)
    }
  })
})
