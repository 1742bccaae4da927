import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { remove } from './home.ts'
import { startObjects } from './objects.ts'
import { findFreePort } from './ports.ts'

const folder = mkdtempSync(join(tmpdir(), 'meridian-objects-'))
afterAll(() => remove(folder))

test('objects are kept over a restart', async () => {
  const settings = { port: await findFreePort(), folder, bucket: 'meridian' }
  const url = `http://127.0.0.1:${settings.port}/meridian/runs/one`
  const first = await startObjects(settings)
  await fetch(url, { method: 'PUT', body: 'a long answer' })
  await first.stop()
  const second = await startObjects(settings)
  expect(await (await fetch(url)).text()).toBe('a long answer')
  await second.stop()
})

test.runIf(process.platform === 'linux')('the object store listens on the loopback address alone', async () => {
  const port = await findFreePort()
  const server = await startObjects({ port, folder, bucket: 'meridian' })
  const listening = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listenersOn(file, port))
  expect(listening).toEqual(['0100007F'])
  await server.stop()
})

const listenersOn = (file: string, port: number): string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === '0A' && Number.parseInt(local?.split(':')[1] ?? '', 16) === port)
    .map(([, local]) => local?.split(':')[0] ?? '')
