/** BullMQ at its best: concurrency 200, finished jobs removed at once; for lateness Redis looks 500 times a second. */
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { type Call, makeCall } from '../call.ts'
import { perform } from './executor.ts'
import { createFor, inBatches, type Peer, setting } from './peer.ts'
import { serve } from './serve.ts'

const name = 'bench-calls'
const { hostname, port, username, password, pathname } = new URL(setting('REDIS_URL'))
const connection = {
  host: hostname,
  port: Number(port),
  db: Number(pathname.slice(1) || 0),
  maxRetriesPerRequest: null,
  ...(username === '' ? {} : { username }),
  ...(password === '' ? {} : { password }),
}
const redis = new Redis(connection)
const queue = new Queue<Call>(name, { connection })
await queue.waitUntilReady()

const forgetful = { removeOnComplete: true, removeOnFail: true }

const store = (first: number, size: number, url: string) =>
  queue.addBulk(
    Array.from({ length: size }, (_, index) => ({
      name: 'call',
      data: makeCall(first + index, url),
      opts: forgetful,
    })),
  )

const startWorker = (concurrency: number, onDone: () => void) => {
  const worker = new Worker<Call>(name, (job) => perform(job.data), {
    connection,
    concurrency,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  })
  worker.on('error', (error) => process.stderr.write(`bullmq: ${error.message}\n`))
  worker.on('completed', onDone)
  return worker
}

let stopped: Promise<void> = Promise.resolve()

const peer: Peer = {
  async reset() {
    await stopped
    await queue.obliterate({ force: true })
  },
  load: (count, url) => inBatches(count, 500, (first, size) => store(first, size, url)),
  async drain(count, onWarm) {
    let done = 0
    const last = Promise.withResolvers<void>()
    const worker = startWorker(200, () => {
      done += 1
      if (done === Math.floor(count / 10)) onWarm()
      if (done === count) last.resolve()
    })
    await last.promise
    stopped = worker.close()
  },
  create: (seconds, url) => createFor(seconds, 500, (first, size) => store(first, size, url)),
  async work() {
    // BullMQ's delays end when a blocked client times out, which Redis notices `hz` times a second.
    await redis.config('SET', 'hz', '500', 'dynamic-hz', 'no')
    await startWorker(50, () => undefined).waitUntilReady()
  },
  async schedule(dueAtMs, url) {
    await inBatches(dueAtMs.length, 500, (first, size) =>
      queue.addBulk(
        dueAtMs.slice(first, first + size).map((due, index) => {
          const call = makeCall(first + index, url)
          call.headers['meridian-due-at'] = new Date(due).toISOString()
          return { name: 'call', data: call, opts: { ...forgetful, delay: Math.max(0, due - Date.now()) } }
        }),
      ),
    )
  },
}

async function restoreRedis(): Promise<void> {
  await redis.config('SET', 'hz', '10', 'dynamic-hz', 'yes')
  process.exit(0)
}
process.once('SIGTERM', () => void restoreRedis())

serve(peer)
