import type { Admitted } from '@meridian/core/run/admit'
import { expressQueue, parcelQueue } from '@meridian/core/run/wake'
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import type { RedisTarget } from './redis.ts'

/** One BullMQ job: runs of one pool, by id, fence and due instant. Nothing of a tenant's. */
export interface Parcel {
  runs: Admitted[]
  /** Others wait for the slots of these: their ends are worth being recorded at once. */
  isAwaited: boolean
  /** Told where queues have classes: then executors keep some of their slots for critical runs. */
  class?: 'critical' | 'other'
}

/** Two belts: what goes by express need not stand behind what is on its way already. */
export type Way = 'road' | 'express'

const queueOf = { road: parcelQueue, express: expressQueue } satisfies Record<Way, unknown>

/** The conveyor belt's near end. */
export interface Carrier {
  isReady(): boolean
  send(parcels: Parcel[], way?: Way): Promise<void>
  close(): Promise<void>
}

const prefix = 'meridian'

/** BullMQ carries; it never schedules, delays or retries. A parcel is gone once it was handed over. */
export function createCarrier(redis: RedisTarget, poolId: number, onError: (error: Error) => void): Carrier {
  // A carrier that is away must say so at once; what it can't take stays in the database.
  const connection = new Redis({ ...redis, maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: 2_000 })
  connection.on('error', onError)
  const open = (way: Way): Queue<Parcel, void, 'parcel'> => {
    const queue = new Queue<Parcel, void, 'parcel'>(queueOf[way](poolId), {
      prefix,
      connection,
      skipMetasUpdate: true,
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    })
    queue.on('error', onError)
    return queue
  }
  const queues = { road: open('road'), express: open('express') }
  return {
    isReady: () => connection.status === 'ready',
    async send(parcels, way = 'road') {
      await queues[way].addBulk(parcels.map((data) => ({ name: 'parcel' as const, data })))
    },
    async close() {
      await Promise.all([queues.road.close(), queues.express.close()])
      // BullMQ leaves a connection that it was given to whoever gave it.
      connection.disconnect()
    },
  }
}

/**
 * The far end: hands parcels to an executor. `take` resolves when the runs are claimed and there is room for more;
 * from the claim on the lease in Postgres is the safety net, so a stalled parcel is never given twice.
 */
export function createParcelWorker(
  redis: RedisTarget,
  poolId: number,
  take: (parcel: Parcel) => Promise<void>,
  options: { way: Way; concurrency: number; onError: (error: Error) => void },
): Worker<Parcel, void, 'parcel'> {
  const worker = new Worker<Parcel, void, 'parcel'>(queueOf[options.way](poolId), (job) => take(job.data), {
    prefix,
    connection: { ...redis, maxRetriesPerRequest: null },
    concurrency: options.concurrency,
    maxStalledCount: 0,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  })
  worker.on('error', options.onError)
  return worker
}
