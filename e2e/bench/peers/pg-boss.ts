/** pg-boss at its best: a partition of its own, batches of 200 by two workers, at once again after a full batch. */
import { Client } from 'pg'
import { type Job, PgBoss } from 'pg-boss'
import { type Call, makeCall } from '../call.ts'
import { perform } from './executor.ts'
import { createFor, inBatches, type Peer, setting } from './peer.ts'
import { serve } from './serve.ts'

const queue = 'calls'
const connectionString = setting('DATABASE_URL')
const admin = new Client({ connectionString })
await admin.connect()
const boss = new PgBoss({ connectionString, max: 20, useListenNotify: true })
boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`))
await boss.start()
await boss.createQueue(queue, { partition: true, deleteAfterSeconds: 3_600 })

async function tableName(): Promise<string> {
  const { rows } = await admin.query<{ table_name: string }>('select table_name from pgboss.queue where name = $1', [
    queue,
  ])
  return `pgboss.${admin.escapeIdentifier(rows[0]?.table_name ?? '')}`
}

const store = (first: number, size: number, url: string) =>
  boss.insert(
    queue,
    Array.from({ length: size }, (_, index) => ({ data: makeCall(first + index, url) })),
  )

const settings = { includeMetadata: false, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true } as const

let stopped: Promise<void> = Promise.resolve()

const peer: Peer = {
  async reset() {
    await stopped
    await boss.deleteAllJobs(queue)
    await admin.query('checkpoint')
  },
  async load(count, url) {
    await inBatches(count, 1_000, (first, size) => store(first, size, url))
    await admin.query(`vacuum analyze ${await tableName()}`)
  },
  async drain(count, onWarm) {
    let done = 0
    const last = Promise.withResolvers<void>()
    const batch = { ...settings, batchSize: 200, localConcurrency: 2 }
    await boss.work(queue, batch, async (jobs: Job<Call>[]) => {
      await Promise.all(
        jobs.map(async ({ data }) => {
          await perform(data)
          done += 1
          if (done === Math.floor(count / 10)) onWarm()
          if (done === count) last.resolve()
        }),
      )
    })
    await last.promise
    stopped = boss.offWork(queue)
  },
  create: (seconds, url) => createFor(seconds, 1_000, (first, size) => store(first, size, url)),
  async work() {
    const batch = { ...settings, batchSize: 100, localConcurrency: 4 }
    await boss.work(queue, batch, async (jobs: Job<Call>[]) => {
      await Promise.all(jobs.map(({ data }) => perform(data)))
    })
  },
  async schedule(dueAtMs, url) {
    const jobs = dueAtMs.map((due, index) => {
      const call = makeCall(index, url)
      call.headers['meridian-due-at'] = new Date(due).toISOString()
      return { data: call, startAfter: new Date(due) }
    })
    await inBatches(jobs.length, 1_000, (first, size) => boss.insert(queue, jobs.slice(first, first + size)))
  },
}

serve(peer)
