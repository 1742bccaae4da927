/** graphile-worker at its best: local queue of 500, completions batched, 50 jobs in parallel, prepared statements. */
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { Pool } from 'pg'
import { type Call, makeCall } from '../call.ts'
import { perform } from './executor.ts'
import { createFor, inBatches, type Peer, setting } from './peer.ts'
import { serve } from './serve.ts'

const pgPool = new Pool({ connectionString: setting('DATABASE_URL'), max: 20 })
pgPool.on('error', (error) => process.stderr.write(`graphile-worker: ${error.message}\n`))
pgPool.on('connect', (client) => client.on('error', () => undefined))
const logger = new Logger(() => () => undefined)
const utils = await makeWorkerUtils({ pgPool, logger })

interface Settings {
  pollInterval: number
  localQueueSize: number
}

const start = ({ pollInterval, localQueueSize }: Settings, task: (call: Call) => Promise<void>) =>
  run({
    pgPool,
    logger,
    noHandleSignals: true,
    crontab: '',
    pollInterval,
    concurrency: 50,
    taskList: { call: (payload) => task(payload as Call) },
    preset: {
      worker: {
        preparedStatements: true,
        localQueue: { size: localQueueSize },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  })

const store = (first: number, size: number, url: string) =>
  utils.addJobs(
    Array.from({ length: size }, (_, index) => ({ identifier: 'call', payload: makeCall(first + index, url) })),
  )

let stopped: Promise<void> = Promise.resolve()

const peer: Peer = {
  async reset() {
    await stopped
    await utils.migrate()
    await pgPool.query('truncate graphile_worker._private_jobs')
    await pgPool.query('checkpoint')
  },
  async load(count, url) {
    await inBatches(count, 500, (first, size) => store(first, size, url))
    await pgPool.query('vacuum analyze graphile_worker._private_jobs')
  },
  async drain(count, onWarm) {
    let done = 0
    const last = Promise.withResolvers<void>()
    const runner = await start({ pollInterval: 1_000, localQueueSize: 500 }, async (call) => {
      await perform(call)
      done += 1
      if (done === Math.floor(count / 10)) onWarm()
      if (done === count) last.resolve()
    })
    await last.promise
    // Stopping takes a while and is no part of the drain.
    stopped = runner.stop()
  },
  create: (seconds, url) => createFor(seconds, 500, (first, size) => store(first, size, url)),
  async work() {
    await start({ pollInterval: 20, localQueueSize: 100 }, async (call) => {
      await perform(call)
    })
  },
  async schedule(dueAtMs, url) {
    const jobs = dueAtMs.map((due, index) => {
      const call = makeCall(index, url)
      call.headers['meridian-due-at'] = new Date(due).toISOString()
      return { identifier: 'call', payload: call, runAt: new Date(due) }
    })
    await inBatches(jobs.length, 500, (first, size) => utils.addJobs(jobs.slice(first, first + size)))
  },
}

serve(peer)
