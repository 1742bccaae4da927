import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteBudget } from './byte-budget.ts'

const settled = (): Promise<unknown> => new Promise(setImmediate)

test('what fits is taken at once, the rest in turn', async () => {
  const budget = new ByteBudget(10)
  const order: number[] = []
  const take = async (bytes: number): Promise<() => void> => {
    const give = await budget.take(bytes)
    order.push(bytes)
    return give
  }
  const [first, second] = await Promise.all([take(6), take(4)])
  const large = take(9)
  const small = take(1)
  await settled()
  expect(order).toEqual([6, 4])
  first()
  await settled()
  expect(order).toEqual([6, 4])
  second()
  await Promise.all([large, small])
  expect(order).toEqual([6, 4, 9, 1])
})

test('what is larger than all there is waits for all of it, and gets it', async () => {
  const budget = new ByteBudget(10)
  const give = await budget.take(1)
  const huge = budget.take(1_000)
  let isIn = false
  huge.then(() => (isIn = true)).catch(() => undefined)
  await settled()
  expect(isIn).toBe(false)
  give()
  ;(await huge)()
  expect(await budget.take(10)).toBeTypeOf('function')
})

test('never more than there is, and everybody gets a turn', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 15 }), { maxLength: 40 }), async (sizes) => {
      const budget = new ByteBudget(10)
      let used = 0
      let served = 0
      await Promise.all(
        sizes.map(async (bytes) => {
          const give = await budget.take(bytes)
          used += Math.min(bytes, 10)
          expect(used).toBeLessThanOrEqual(10)
          served++
          await settled()
          used -= Math.min(bytes, 10)
          give()
        }),
      )
      expect(served).toBe(sizes.length)
    }),
    { numRuns: 50 },
  )
})
