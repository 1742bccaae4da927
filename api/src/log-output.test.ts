import { expect, test } from 'vitest'
import { createLogOutput } from './log-output.ts'

test('lines of one turn are one write, in order, and a flush writes at once', async () => {
  const writes: string[] = []
  const output = createLogOutput({ write: (text) => writes.push(text) })
  for (const line of ['a\n', 'b\n', 'c\n']) output.write(line)
  expect(writes).toEqual([])
  await new Promise((resolve) => setImmediate(resolve))
  expect(writes).toEqual(['a\nb\nc\n'])
  output.write('d\n')
  output.flush()
  await new Promise((resolve) => setImmediate(resolve))
  expect(writes).toEqual(['a\nb\nc\n', 'd\n'])
})
