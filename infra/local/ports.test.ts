import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openHome, remove } from './home.ts'
import { keepPorts } from './ports.ts'

const home = openHome(mkdtempSync(join(tmpdir(), 'meridian-ports-')))
afterAll(() => remove(home.path))

test('ports are chosen once, apart from each other, below those of outgoing connections', async () => {
  const ports = await keepPorts(home)
  const numbers = Object.values(ports)
  expect(new Set(numbers).size).toBe(numbers.length)
  expect(Math.max(...numbers)).toBeLessThan(32_768)
  expect(await keepPorts(home)).toEqual(ports)
})

test('a port that somebody else took is chosen again, and the others stay', async () => {
  const before = await keepPorts(home)
  const stranger = createServer().listen(before.api, '127.0.0.1')
  await once(stranger, 'listening')
  const after = await keepPorts(home)
  stranger.close()
  expect(after.api).not.toBe(before.api)
  expect({ ...after, api: before.api }).toEqual(before)
})
