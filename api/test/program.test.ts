import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTenant } from '@meridian/core/testing/factories'
import { createTestDb, type TestDb } from '@meridian/core/testing/test-db'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { inAnHour, target } from './api.ts'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
let db: TestDb
let folder: string
const children: ChildProcess[] = []
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  folder = await mkdtemp(join(tmpdir(), 'meridian-program-'))
  await writeFile(join(folder, 'key'), randomBytes(32).toString('base64'))
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await db.close()
  await rm(folder, { recursive: true, force: true })
})

function start(environment: Record<string, string>) {
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  const output = { out: '', error: '' }
  child.stdout.on('data', (data) => void Object.assign(output, { out: output.out + String(data) }))
  child.stderr.on('data', (data) => void Object.assign(output, { error: output.error + String(data) }))
  return { child, output, ended: once(child, 'exit') as Promise<[number | null]> }
}

async function startWell() {
  const program = start({
    PORT: '0',
    DATABASE_URL: db.appUrl,
    REDIS_URL: inject('redisUrl'),
    KEY_FILE: join(folder, 'key'),
    ALLOW_PRIVATE_TARGETS: 'true',
  })
  const giveUpAt = performance.now() + 20_000
  while (!program.output.out.includes('listening') && performance.now() < giveUpAt)
    await new Promise((resolve) => setTimeout(resolve, 50))
  const { port } = JSON.parse(program.output.out.split('\n')[0] ?? '{}') as { port: number }
  return { ...program, url: `http://127.0.0.1:${port}` }
}

test('a bad environment is told whole, without values, and ends the program', async () => {
  const { output, ended } = start({
    PORT: '99999',
    RATE_LIMIT: 'many',
    DATABASE_URL: 'mysql://secret@db/',
    ALLOW_PRIVATE_TARGETS: 'perhaps',
  })
  expect((await ended)[0]).toBe(1)
  for (const name of ['PORT', 'RATE_LIMIT', 'DATABASE_URL', 'REDIS_URL', 'KEY_FILE', 'ALLOW_PRIVATE_TARGETS'])
    expect(output.error).toContain(`${name}: `)
  expect(output.error).not.toContain('secret')
})

test('asked to stop, it answers what is in flight, and every run it said yes to is there', async () => {
  const { child, url, ended } = await startWell()
  const { apiKey } = await createTenant(db)
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ target, dueAt: inAnHour() })
  const create = async () => {
    try {
      const response = await fetch(`${url}/v1/runs`, { method: 'POST', headers, body })
      return { status: response.status, id: ((await response.json()) as { id?: string }).id }
    } catch {
      return { status: 0, id: undefined }
    }
  }
  await create()
  let stoppedAt = 0
  const creating: Promise<{ status: number; id: string | undefined }>[] = []
  for (let round = 0; round < 40; round++) {
    for (let index = 0; index < 10; index++) creating.push(create())
    if (round === 20) {
      child.kill('SIGTERM')
      stoppedAt = performance.now()
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const answers = await Promise.all(creating)
  expect((await ended)[0]).toBe(0)
  expect(performance.now() - stoppedAt).toBeLessThan(10_000)
  // What was not answered was not taken: a connection is refused, never cut in the middle.
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 0]))
  const { rows } = await db.owner.query<{ count: number }>('select count(*)::int as count from inputs')
  expect(rows[0]?.count).toBe(answers.filter(({ status }) => status === 201).length + 1)
})

test('a run that was answered is there after the program was killed, and its key still answers', async () => {
  const { child, url, ended } = await startWell()
  const { apiKey } = await createTenant(db)
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': 'k' }
  const body = JSON.stringify({ target, dueAt: inAnHour() })
  const first = await (await fetch(`${url}/v1/runs`, { method: 'POST', headers, body })).text()
  child.kill('SIGKILL')
  await ended
  const again = await startWell()
  expect(await (await fetch(`${again.url}/v1/runs`, { method: 'POST', headers, body })).text()).toBe(first)
})
