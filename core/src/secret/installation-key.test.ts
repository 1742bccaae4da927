import { createPublicKey, verify } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepInstallationKey } from './installation-key.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-key-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('whoever starts first makes the key, all others have the same, and nobody else may read it', async () => {
  const path = join(folder, 'installation.key')
  const keys = await Promise.all(Array.from({ length: 8 }, () => keepInstallationKey(path)))
  expect(new Set(keys.map(({ id }) => id)).size).toBe(1)
  expect((await keepInstallationKey(path)).id).toBe(keys[0]?.id)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).toEqual(['installation.key'])
  expect(JSON.stringify(keys[0]?.publicJwk)).not.toContain('"d"')
})

test('what it signs can be checked with the public part alone', async () => {
  const { publicJwk, id, sign } = await keepInstallationKey(join(folder, 'installation.key'))
  const [header = '', payload = '', signature = ''] = sign('test', { a: 1 }).split('.')
  const decode = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())
  expect(decode(header)).toEqual({ alg: 'EdDSA', kid: id, typ: 'test' })
  expect(decode(payload)).toEqual({ a: 1 })
  const key = createPublicKey({ key: publicJwk, format: 'jwk' })
  const check = (text: string): boolean => verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'))
  expect([check(`${header}.${payload}`), check(`${header}.${payload}x`)]).toEqual([true, false])
})

test('a file that holds something else is refused and left alone', async () => {
  const path = join(folder, 'other')
  await writeFile(path, 'not a key')
  await expect(keepInstallationKey(path)).rejects.toThrow(/PEM|DECODER|unsupported/i)
  expect(await readFile(path, 'utf8')).toBe('not a key')
  await expect(keepInstallationKey(join(folder, 'nowhere', 'key'))).rejects.toMatchObject({ code: 'ENOENT' })
})
