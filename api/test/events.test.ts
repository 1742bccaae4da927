import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { StoredEvent } from '@meridian/core/event/event'
import { readEvents } from '@meridian/core/event/read'
import { eventStream } from '@meridian/core/run/wake'
import { testCtx } from '@meridian/core/testing/factories'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createEventHub } from '../src/http/event-hub.ts'
import { type Client, inAnHour, type Job, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'
import { startRedis } from './redis.ts'

let api: TestApi
let redis: Redis
beforeAll(async () => {
  api = await startTestApi()
  redis = new Redis(inject('redisUrl'))
})
afterAll(async () => {
  redis.disconnect()
  await api.close()
})

interface Message {
  id: string | undefined
  event: string
  data: Record<string, unknown>
}

/** Follows a stream, and waits for what it says. */
async function follow(token: string, headers: Record<string, string> = {}, on = api) {
  const controller = new AbortController()
  const response = await fetch(`${on.url}/v1/events/stream`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: controller.signal,
  })
  const messages: Message[] = []
  let text = ''
  const reading = (async () => {
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
        const data = field('data')
        if (data !== undefined)
          messages.push({
            id: field('id'),
            event: field('event') ?? '',
            data: JSON.parse(data) as Record<string, unknown>,
          })
      }
    }
  })().catch(() => undefined)
  const until = async (count: number, timeoutMs = 5_000) => {
    const giveUpAt = performance.now() + timeoutMs
    while (messages.length < count && performance.now() < giveUpAt)
      await new Promise((resolve) => setTimeout(resolve, 10))
    return messages
  }
  return { response, messages, until, ended: reading, leave: () => controller.abort() }
}

/** What the relay does: tells everything behind a position on to Redis. */
async function relay(after: string, to = redis, on = api): Promise<string> {
  const events = await readEvents(on.db.engine, after, 1_000)
  if (events.length > 0) await to.xadd(eventStream, '*', 'e', JSON.stringify(events))
  return events.at(-1)?.position ?? after
}

const start = async (client: Client): Promise<string> =>
  (await client.post<Run>('/v1/runs', { target, dueAt: inAnHour() })).body.id

test('events of the project arrive live, and nothing of anybody else', async () => {
  const mine = await api.tenant()
  const theirs = await api.tenant()
  const position = await relay('0-0')
  const stream = await follow(mine.apiKey)
  expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect((await stream.until(1))[0]?.event).toBe('stream.ready')
  await start(theirs.client)
  const job = await mine.client.post<Job>('/v1/jobs', { name: 'one', target })
  const run = await start(mine.client)
  await relay(position)
  const heard = (await stream.until(3)).slice(1)
  expect(heard.map(({ event, data }) => [event, data.subject, data.jobId])).toEqual([
    ['job.created', job.body.id, job.body.id],
    ['run.created', run, null],
  ])
  expect(heard.every(({ id, data }) => id === data.id)).toBe(true)
  stream.leave()
})

test('an event is not missed because it comes while the first stream is being opened', async () => {
  const tenant = await api.tenant()
  const { promise: isLetIn, resolve: letIn } = Promise.withResolvers<void>()
  const { hostname, port } = new URL(inject('redisUrl'))
  // A connection that takes its time, as one to a busy server does.
  const slow = createServer((socket) => {
    void isLetIn.then(() => pipeline(socket, connect(Number(port), hostname), socket).catch(() => undefined))
  })
  await once(slow.listen(0, '127.0.0.1'), 'listening')
  const hub = createEventHub({
    openReader: () => new Redis((slow.address() as AddressInfo).port, '127.0.0.1'),
    log: api.services.log,
    streamsPerTenant: 1,
    resumeTransactionsMax: 10,
  })
  const heard: StoredEvent[] = []
  const subscriber = {
    ctx: testCtx(api.db, tenant),
    take: (events: readonly StoredEvent[]) => heard.push(...events) > 0,
    ready: async () => undefined,
    close: () => undefined,
  }
  const position = await relay('0-0')
  const subscribed = hub.subscribe(subscriber, position)
  // It does not wait for Redis for ever.
  await subscribed
  await new Promise((resolve) => setTimeout(resolve, 200))
  await start(tenant.client)
  await relay(position)
  letIn()
  await expect.poll(() => heard.map(({ type }) => type), { timeout: 5_000 }).toEqual(['run.created'])
  hub.unsubscribe(subscriber)
  hub.close()
  slow.close()
})

test('a stream goes on where it was: nothing is missed, nothing comes twice', async () => {
  const { client, apiKey } = await api.tenant()
  const first = await follow(apiKey)
  await first.until(1)
  const position = await relay('0-0')
  await start(client)
  const middle = await relay(position)
  const last = (await first.until(2)).at(-1)?.id ?? ''
  first.leave()
  const missed = [await start(client), await start(client)]
  const end = await relay(middle)
  const second = await follow(apiKey, { 'last-event-id': last })
  await second.until(3)
  const live = await start(client)
  // Told twice, as a relay that was restarted does.
  await relay(end)
  await relay(end)
  await second.until(4)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(second.messages.slice(1).map(({ data }) => data.subject)).toEqual([...missed, live])
  second.leave()
})

test('a reader that was away for long is told to reload, and goes on from now', async () => {
  const tenant = await api.tenant()
  const ctx = testCtx(api.db, tenant)
  const hub = createEventHub({
    openReader: () => new Redis(inject('redisUrl')),
    log: api.services.log,
    streamsPerTenant: 1,
    resumeTransactionsMax: 10,
  })
  const heard: StoredEvent[] = []
  const subscriber = {
    ctx,
    take: (events: readonly StoredEvent[]) => heard.push(...events) > 0,
    ready: async () => undefined,
    close: () => undefined,
  }
  await start(tenant.client)
  expect(await hub.subscribe(subscriber, '1-1')).toMatchObject({ isReset: true })
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(heard).toEqual([])
  hub.unsubscribe(subscriber)
  hub.close()
})

test('without Redis the stream reads Postgres, and goes on when Redis is back', async () => {
  const own = await startRedis()
  const port = Number(new URL(own.url).port)
  const alone = await startTestApi({ REDIS_URL: own.url })
  try {
    const { client, apiKey } = await alone.tenant()
    const stream = await follow(apiKey, {}, alone)
    await stream.until(1)
    await own.stop()
    const first = await start(client)
    expect((await stream.until(2, 6_000)).at(-1)?.data.subject).toBe(first)
    const back = await startRedis(port)
    const second = await start(client)
    expect((await stream.until(3, 6_000)).at(-1)?.data.subject).toBe(second)
    stream.leave()
    await back.stop()
  } finally {
    await alone.close()
  }
})

test('a tenant holds only so many streams, and gets new ones when old ones end', async () => {
  const few = await startTestApi({ STREAMS_PER_TENANT: '2' })
  try {
    const { apiKey } = await few.tenant()
    const other = await few.tenant()
    const streams = [await follow(apiKey, {}, few), await follow(apiKey, {}, few)]
    const refused = await fetch(`${few.url}/v1/events/stream`, { headers: { authorization: `Bearer ${apiKey}` } })
    expect([refused.status, ((await refused.json()) as Problem).code]).toEqual([429, 'rate-limited'])
    expect((await follow(other.apiKey, {}, few)).response.status).toBe(200)
    streams[0]?.leave()
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect((await follow(apiKey, {}, few)).response.status).toBe(200)
  } finally {
    await few.close()
  }
})

test('a stop ends every stream', async () => {
  const own = await startTestApi()
  const { apiKey } = await own.tenant()
  const stream = await follow(apiKey, {}, own)
  await stream.until(1)
  await own.close()
  await stream.ended
  expect(own.services.events.subscriberCount).toBe(0)
})
