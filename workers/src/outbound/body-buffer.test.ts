import { describe, expect, test } from 'vitest'
import { BodyBuffer } from './body-buffer.ts'

const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, index) => index % 251))

describe('a body', () => {
  test.each([1, 2, 3, 7, 1_000])('in chunks of %d bytes comes out as it went in', (size) => {
    const whole = bytes(5_000)
    const body = new BodyBuffer(10_000, { bytesLeft: 0 })
    for (let at = 0; at < whole.length; at += size)
      expect(body.take(Buffer.from(whole.subarray(at, at + size)))).toBe(true)
    const { bytes: kept, truncated } = body.close()
    expect([kept.equals(whole), truncated]).toEqual([true, false])
  })

  test('of none is empty', () =>
    expect(new BodyBuffer(10, { bytesLeft: 0 }).close()).toEqual({ bytes: Buffer.alloc(0), truncated: false }))

  test('that ends exactly at the limit is whole, one byte more is cut', () => {
    const exact = new BodyBuffer(10, { bytesLeft: 0 })
    expect([exact.take(bytes(4)), exact.take(bytes(6))]).toEqual([true, true])
    expect(exact.close().truncated).toBe(false)
    const over = new BodyBuffer(10, { bytesLeft: 0 })
    expect([over.take(bytes(4)), over.take(bytes(7))]).toEqual([true, false])
    expect([over.close().truncated, over.close().bytes.length]).toEqual([true, 10])
  })

  test('does not write into the chunk it was given', () => {
    const shared = Buffer.from('abcdef')
    const body = new BodyBuffer(10, { bytesLeft: 0 })
    body.take(shared.subarray(0, 2))
    body.take(Buffer.from('XY'))
    expect(shared.toString()).toBe('abcdef')
    expect(body.close().bytes.toString()).toBe('abXY')
  })
})

describe('the budget', () => {
  test('lets each keep 64 KiB when there is nothing left to borrow', () => {
    const body = new BodyBuffer(1_048_576, { bytesLeft: 0 })
    expect(body.take(bytes(100_000))).toBe(false)
    expect(body.close().bytes.length).toBe(65_536)
  })

  test('is borrowed from beyond that, shared, and given back', () => {
    const budget = { bytesLeft: 50_000 }
    const first = new BodyBuffer(1_048_576, budget)
    expect(first.take(bytes(100_000))).toBe(true)
    expect(budget.bytesLeft).toBe(50_000 - (100_000 - 65_536))
    const second = new BodyBuffer(1_048_576, budget)
    expect(second.take(bytes(100_000))).toBe(false)
    expect(budget.bytesLeft).toBe(0)
    expect(first.close().bytes.length).toBe(100_000)
    second.close()
    second.close()
    expect(budget.bytesLeft).toBe(50_000)
  })
})
