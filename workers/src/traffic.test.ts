import type { Admitted } from '@meridian/core/run/admit'
import { describe, expect, test } from 'vitest'
import { Traffic } from './traffic.ts'

const runs = (tenant: string, count: number): Admitted[] =>
  Array.from({ length: count }, (_, index) => [tenant, 'queue', `${tenant}${index}`, 1, index, '2039-01-03'])
const express = (traffic: Traffic, admitted: Admitted[], atMs: number): string[] => [
  ...new Set(traffic.part(admitted, atMs).express.map(([tenant]) => tenant)),
]

describe('on the way', () => {
  test('who has little goes past who has much; nothing is lost, and the order is kept', () => {
    const traffic = new Traffic()
    const admitted = [...runs('a', 500), ...runs('b', 3), ...runs('a', 300)]
    const { road, express: fast } = traffic.part(admitted, 0)
    expect(fast).toEqual(runs('b', 3))
    expect(road).toEqual(admitted.filter(([tenant]) => tenant === 'a'))
  })

  test('one tenant alone, an even load, and a road that is nearly empty have no express', () => {
    expect(express(new Traffic(), runs('a', 1_000), 0)).toEqual([])
    expect(express(new Traffic(), [...runs('a', 400), ...runs('b', 380)], 0)).toEqual([])
    expect(express(new Traffic(), [...runs('a', 90), ...runs('b', 1)], 0)).toEqual([])
  })

  test('what was sent before counts, until it is gone', () => {
    const traffic = new Traffic()
    expect(express(traffic, runs('a', 2_000), 0)).toEqual([])
    expect(express(traffic, runs('b', 2), 100)).toEqual(['b'])
    expect(express(traffic, runs('b', 2), 60_000)).toEqual([])
  })

  test('who sends as much as the others by and by is in line with them', () => {
    const traffic = new Traffic()
    traffic.part(runs('a', 2_000), 0)
    expect(express(traffic, runs('b', 100), 10)).toEqual(['b'])
    expect(express(traffic, runs('b', 1_000), 20)).toEqual([])
  })
})
