import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { toWireId } from '../../src/kernel/ids.ts'
import { type BodyStore, createBodyStore } from '../../src/object/store.ts'
import { createTenant, type TestTenant } from '../../src/testing/factories.ts'
import { unknownId } from '../../src/testing/job-samples.ts'
import { createTestDb, type TestDb } from '../../src/testing/test-db.ts'

// As much of an S3 service as two requests need; the stack's own store is tested where it lives.
const objects = new Map<string, Buffer>()
let isBroken = false
const answer = (head: string, bytes: Buffer): Buffer => {
  const [method, target = ''] = head.split(' ')
  const path = target.split('?')[0] ?? ''
  const reply = (status: string, body: string | Buffer): Buffer => {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    return Buffer.concat([
      Buffer.from(`HTTP/1.1 ${status}\r\ncontent-length: ${bytes.length}\r\nconnection: close\r\n\r\n`),
      bytes,
    ])
  }
  if (isBroken) return reply('503 Unavailable', '<Error><Code>SlowDown</Code></Error>')
  if (method === 'PUT') {
    objects.set(path, bytes)
    return reply('200 OK', '')
  }
  const found = objects.get(path)
  return found === undefined
    ? reply('404 Not Found', '<Error><Code>NoSuchKey</Code><Message>none</Message></Error>')
    : reply('200 OK', found)
}
const s3: Server = createServer((socket) => {
  let received = Buffer.alloc(0)
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, Buffer.from(chunk)])
    const end = received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = received.toString('latin1', 0, end)
    if (/expect: 100-continue/i.test(head) && received.length === end + 4) socket.write('HTTP/1.1 100 Continue\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (received.length >= end + 4 + length) socket.end(answer(head, received.subarray(end + 4, end + 4 + length)))
  })
})

let db: TestDb
let tenant: TestTenant
let store: BodyStore
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  tenant = await createTenant(db)
  await new Promise<void>((resolve) => s3.listen(0, '127.0.0.1', resolve))
  const address = s3.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  store = createBodyStore(
    { url, region: 'us-east-1', bucket: 'bodies', accessKey: 'key', secretKey: 'secret' },
    db.keyRing,
  )
})
afterAll(async () => {
  store.close()
  s3.close()
  await db.close()
})
beforeEach(() => {
  isBroken = false
})

describe('bodies in the object store', () => {
  const body = Buffer.from(`the whole of it ${'x'.repeat(100_000)}`)
  const runId = unknownId()

  it('are stored sealed, under a name of their tenant and run, and come back', async () => {
    const key = await store.put(tenant.tenantId, runId, 3, body)
    expect(key).toBe(`${toWireId('ten', tenant.tenantId)}/responses/${toWireId('run', runId)}/3`)
    const stored = objects.get(`/bodies/${key}`)
    expect(stored?.length).toBeGreaterThan(body.length)
    expect(stored?.includes('the whole of it')).toBe(false)
    expect((await store.get(tenant.tenantId, runId, key))?.equals(body)).toBe(true)
  })

  it('do not open for another run or tenant', async () => {
    const key = await store.put(tenant.tenantId, runId, 1, body)
    const other = await createTenant(db)
    await expect(store.get(tenant.tenantId, unknownId(), key)).rejects.toMatchObject({ code: 'dependency-unavailable' })
    await expect(store.get(other.tenantId, runId, key)).rejects.toMatchObject({ code: 'dependency-unavailable' })
  })

  it('that are past their retention are none', async () => {
    expect(await store.get(tenant.tenantId, runId, 'gone')).toBeNull()
  })

  it('of a store that is away are said to be away', async () => {
    isBroken = true
    await expect(store.get(tenant.tenantId, runId, 'x')).rejects.toMatchObject({ code: 'dependency-unavailable' })
    await expect(store.put(tenant.tenantId, runId, 1, body)).rejects.toThrow(/./)
  })
})
