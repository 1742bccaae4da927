import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { build, type Product } from './build.ts'
import { remove } from './home.ts'

const product: Product = { name: 'the thing', folder: 'thing', output: 'out/index.js', sources: ['src/**/*'] }
let checkout: string
const path = (...parts: string[]): string => join(checkout, 'thing', ...parts)
const timesBuilt = (): number => (existsSync(path('log')) ? readFileSync(path('log'), 'utf8').length : 0)

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'meridian-build-'))
  mkdirSync(path('src'), { recursive: true })
  writeFileSync(path('src', 'a.ts'), 'a')
  writeFileSync(
    path('package.json'),
    '{ "scripts": { "build": "mkdir -p out && cp src/a.ts out/index.js && printf x >> log" } }',
  )
})
afterEach(() => remove(checkout))

test('what was built from the same sources is not built again', async () => {
  await build(product, checkout)
  await build(product, checkout)
  expect(timesBuilt()).toBe(1)
})

test('a changed, added or removed source, or a lost product, is built again', async () => {
  await build(product, checkout)
  appendFileSync(path('src', 'a.ts'), 'a')
  await build(product, checkout)
  expect(timesBuilt()).toBe(2)
  writeFileSync(path('src', 'b.ts'), 'b')
  await build(product, checkout)
  expect(timesBuilt()).toBe(3)
  rmSync(path('src', 'b.ts'))
  await build(product, checkout)
  expect(timesBuilt()).toBe(4)
  rmSync(path('out'), { recursive: true })
  await build(product, checkout)
  expect(timesBuilt()).toBe(5)
})

test('two that need it at once build it once', async () => {
  await Promise.all([build(product, checkout), build(product, checkout), build(product, checkout)])
  expect(timesBuilt()).toBe(1)
})

test('a build that fails says why, and is tried again', async () => {
  rmSync(path('src', 'a.ts'))
  await expect(build(product, checkout)).rejects.toThrow(/the thing does not build.*src\/a\.ts/s)
  writeFileSync(path('src', 'a.ts'), 'a')
  await build(product, checkout)
  expect(readFileSync(path('out', 'index.js'), 'utf8')).toBe('a')
})

test('a kept build stays as it is while the next one is made', async () => {
  const kept = { ...product, kept: '.builds' }
  const first = await build(kept, checkout)
  expect(await build(kept, checkout)).toBe(first)
  writeFileSync(path('src', 'a.ts'), 'changed')
  const second = await build(kept, checkout)
  expect(timesBuilt()).toBe(2)
  expect([first, second].map((file) => readFileSync(file, 'utf8'))).toEqual(['a', 'changed'])
})

test('only the newest builds are kept', async () => {
  const kept = { ...product, kept: '.builds' }
  for (let version = 1; version <= 7; version++) {
    writeFileSync(path('src', 'a.ts'), 'a'.repeat(version + 1))
    await build(kept, checkout)
  }
  expect(readdirSync(path('.builds'))).toHaveLength(5)
  expect(readFileSync(await build(kept, checkout), 'utf8')).toBe('aaaaaaaa')
  expect(timesBuilt()).toBe(7)
})
