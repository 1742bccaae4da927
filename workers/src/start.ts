import type { Pool } from '@meridian/core/db/client'
import { spareOf } from '@meridian/core/flow/classes'
import type { Uuid } from '@meridian/core/kernel/ids'
import type { Log } from '@meridian/core/kernel/log'
import type { Metrics } from '@meridian/core/kernel/metrics'
import { createBodyStore } from '@meridian/core/object/store'
import { cancelChannel, slotsFreed, wakeChannel } from '@meridian/core/run/wake'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import type { Redis } from 'ioredis'
import { createCarrier, createParcelWorker } from './carrier.ts'
import { type Config, sharesOf } from './config.ts'
import { Breakers } from './executor/breakers.ts'
import { Executor } from './executor/executor.ts'
import { createExecutorMetrics } from './executor/executor-metrics.ts'
import { type Loop, startLoop } from './loop.ts'
import { createOutbound } from './outbound.ts'
import { observeQueues } from './queue-metrics.ts'
import { createSubscriber, type RedisTarget } from './redis.ts'
import { runBreakers } from './roles/breakers.ts'
import { Dispatcher } from './roles/dispatcher.ts'
import { runJanitor } from './roles/janitor.ts'
import { runKeeper } from './roles/keeper.ts'
import { runOperations } from './roles/operations.ts'
import { runExpirer, runReaper } from './roles/reaper.ts'
import { Relay } from './roles/relay.ts'
import { Sampler, sampleMs } from './roles/sampler.ts'
import { runScheduler } from './roles/scheduler.ts'
import { TestClocks } from './roles/test-clocks.ts'
import { observeAlarms, Watchdog } from './roles/watchdog.ts'

export interface Means {
  config: Config
  engine: Pool
  redis: RedisTarget
  publisher: Redis
  keyRing: KeyRing
  log: Log
  metrics: Metrics
  executorId: Uuid
}

interface Running {
  stop(graceMs: number): Promise<void>
}

const pollMs = 500
/** Operations are waited for by people: their first step comes within this. */
const operationsPollMs = 200
const parcelsAtOnce = 8
/** How soon a host that is back gets what was held for it. */
const breakersMs = 250
/** How often the watchdog looks. */
const watchMs = 5_000

/** Starts the roles of the configuration. `stop` ends them in the order in which nothing is left half done. */
export async function startRoles(means: Means): Promise<Running> {
  const { config } = means
  const starters: Record<Config['roles'][number], (means: Means) => Promise<Running>> = {
    scheduler: startScheduler,
    dispatcher: startDispatcher,
    executor: startExecutor,
    relay: startRelay,
    reaper: startReaper,
    janitor: startJanitor,
    watchdog: startWatchdog,
  }
  const running: Running[] = []
  for (const role of config.roles) running.push(await starters[role](means))
  return {
    async stop(graceMs) {
      await Promise.all(running.map((role) => role.stop(graceMs)))
    },
  }
}

const wakeDispatchers =
  ({ publisher }: Means) =>
  (poolId: number, dueMs: number): void => {
    // Best effort: a look comes by itself soon enough.
    if (publisher.status === 'ready') publisher.publish(wakeChannel(poolId), String(dueMs)).catch(() => undefined)
  }

const running = (...loops: Loop[]): Running => ({
  async stop() {
    await Promise.all(loops.map((loop) => loop.stop()))
  },
})

async function startScheduler(means: Means): Promise<Running> {
  const { engine, keyRing, log, config } = means
  const shard = config.SHARD
  const wake = wakeDispatchers(means)
  const clocks = new TestClocks({ engine, keyRing, shard, wake })
  return running(
    startLoop({
      name: 'scheduler',
      idleMs: pollMs,
      log,
      runOnce: () => runScheduler({ engine, keyRing, shard, log, pollMs, wake }),
    }),
    startLoop({ name: 'keeper', idleMs: 1_000, log, runOnce: () => runKeeper({ engine, keyRing, shard, log }) }),
    startLoop({
      name: 'operations',
      idleMs: operationsPollMs,
      log,
      runOnce: () => runOperations({ engine, keyRing, shard, log, wake }),
    }),
    startLoop({ name: 'test-clocks', idleMs: operationsPollMs, log, runOnce: () => clocks.runOnce() }),
  )
}

async function startDispatcher(means: Means): Promise<Running> {
  const { engine, redis, publisher, config, log, metrics } = means
  const poolId = config.POOL
  const carrier = createCarrier(redis, poolId, (error) => log.debug({ err: error }, 'the carrier is away'))
  const interrupt = (runId: string, fence: number): void => {
    // Best effort: its lease is gone, which its next heartbeat finds.
    if (publisher.status === 'ready')
      publisher.publish(cancelChannel(poolId), `${runId} ${fence}`).catch(() => undefined)
  }
  const dispatcher = new Dispatcher({
    engine,
    poolId,
    carrier,
    reserved: sharesOf(config).reserved,
    log,
    pollMs,
    interrupt,
  })
  const loop = startLoop({ name: 'dispatcher', idleMs: pollMs, log, runOnce: () => dispatcher.runOnce() })
  const breakers = startLoop({
    name: 'breakers',
    idleMs: breakersMs,
    log,
    runOnce: () => runBreakers({ engine, wake: wakeDispatchers(means) }),
  })
  const subscriber = createSubscriber(redis, log)
  subscriber.on('message', (_channel: string, message: string) => {
    const dueMs = Number(message)
    if (dueMs === slotsFreed) {
      if (dispatcher.wantsEachSlot) loop.wakeAt(performance.now() + dispatcher.freedWaitMs)
    } else loop.wakeAt(performance.now() + dispatcher.waitMs(dueMs - Date.now()))
  })
  subscriber.subscribe(wakeChannel(poolId)).catch((error: unknown) => log.debug({ err: error }, 'could not subscribe'))
  const sampler = new Sampler(engine, poolId)
  const sampling = startLoop({ name: 'sampler', idleMs: sampleMs, log, runOnce: () => sampler.runOnce() })
  const stopObserving = [observeQueues(metrics, engine, poolId), sampler.observe(metrics)]
  return {
    async stop() {
      for (const stop of stopObserving) stop()
      subscriber.disconnect()
      await Promise.all([loop.stop(), breakers.stop(), sampling.stop()])
      await dispatcher.drain()
      await carrier.close()
    },
  }
}

async function startExecutor(means: Means): Promise<Running> {
  const { engine, redis, keyRing, config, log, metrics, executorId } = means
  const poolId = config.POOL
  const wake = wakeDispatchers(means)
  const shares = sharesOf(config)
  const outbound = createOutbound({
    allowPrivate: config.ALLOW_PRIVATE_TARGETS,
    maxSocketsPerOrigin: config.SOCKETS_PER_ORIGIN,
    spareSocketsPerOrigin: spareOf(config.SOCKETS_PER_ORIGIN, shares),
  })
  const store =
    config.OBJECT_STORE_URL === undefined
      ? null
      : createBodyStore(
          {
            url: config.OBJECT_STORE_URL,
            region: config.OBJECT_STORE_REGION,
            bucket: config.OBJECT_STORE_BUCKET,
            accessKey: config.OBJECT_STORE_ACCESS_KEY,
            secretKey: config.OBJECT_STORE_SECRET_KEY,
          },
          keyRing,
        )
  const breakers = new Breakers({ engine, poolId, log })
  const executor = new Executor({
    id: executorId,
    engine,
    breakers,
    keyRing,
    outbound,
    poolId,
    capacity: config.EXECUTOR_CAPACITY,
    spare: spareOf(config.EXECUTOR_CAPACITY, shares),
    leaseSeconds: config.LEASE_SECONDS,
    log,
    metrics: createExecutorMetrics(metrics),
    keeping: {
      inlineBytesMax: config.RESPONSE_INLINE_BYTES,
      keptBytesMax: store === null ? config.RESPONSE_INLINE_BYTES : config.RESPONSE_KEPT_BYTES,
      storeBody: store && ((body, { tenantId, runId, attempt }) => store.put(tenantId, runId, attempt, body)),
      onStoreError: (error) => log.warn({ err: error }, 'a response could not be stored'),
    },
    onFreed: () => wake(poolId, slotsFreed),
    onRetry: (delayMs) => wake(poolId, Date.now() + delayMs),
  })
  // Known before the first parcel: a dispatcher admits nothing to a pool without executors.
  await executor.announce().catch((error: unknown) => log.warn({ err: error }, 'could not announce'))
  const workers = (['road', 'express'] as const).map((way) =>
    createParcelWorker(redis, poolId, (parcel) => executor.take(parcel, way), {
      way,
      concurrency: parcelsAtOnce,
      onError: (error) => log.debug({ err: error }, 'the parcel worker is away'),
    }),
  )
  const loops = [
    startLoop({
      name: 'announce',
      idleMs: 500,
      log,
      // A busy one often: what it is given follows from how fast it says it is.
      runOnce: () => executor.announce().then((isBusy) => (isBusy ? { sleepMs: 200 } : 'idle')),
    }),
    startLoop({
      name: 'leases',
      idleMs: executor.renewEveryMs,
      log,
      runOnce: () => executor.renew().then(() => 'idle'),
    }),
    startLoop({ name: 'breakers', idleMs: pollMs, log, runOnce: () => breakers.refresh().then(() => 'idle') }),
  ]
  const subscriber = createSubscriber(redis, log)
  subscriber.on('message', (_channel: string, message: string) => {
    const [runId, fence] = message.split(' ')
    if (runId !== undefined) executor.cancel(runId, Number(fence))
  })
  subscriber
    .subscribe(cancelChannel(poolId))
    .catch((error: unknown) => log.debug({ err: error }, 'could not subscribe'))
  return {
    async stop(graceMs) {
      await loops[0]?.stop()
      // Closing waits for the parcels in hand, and those for room: stopping makes it.
      await Promise.all([...workers.map((worker) => worker.close()), executor.stop(graceMs)])
      await Promise.all(loops.map((loop) => loop.stop()))
      subscriber.disconnect()
      await outbound.destroy()
      store?.close()
    },
  }
}

async function startRelay({ engine, publisher, keyRing, log }: Means): Promise<Running> {
  const relay = new Relay(engine, publisher, keyRing, log)
  return running(startLoop({ name: 'relay', idleMs: 100, log, runOnce: () => relay.runOnce() }))
}

async function startReaper(means: Means): Promise<Running> {
  const { engine, log, config } = means
  const wake = wakeDispatchers(means)
  return running(
    startLoop({
      name: 'reaper',
      idleMs: 1_000,
      log,
      runOnce: () => runReaper({ engine, poolId: config.POOL, log, wake }),
    }),
    startLoop({ name: 'expirer', idleMs: pollMs, log, runOnce: () => runExpirer({ engine, log }) }),
  )
}

async function startJanitor({ engine, log, config }: Means): Promise<Running> {
  return running(
    startLoop({
      name: 'janitor',
      idleMs: 3_600_000,
      log,
      runOnce: () => runJanitor({ engine, shard: config.SHARD, log, retentionDays: config.RETENTION_DAYS }),
    }),
  )
}

async function startWatchdog({ engine, log, config, metrics }: Means): Promise<Running> {
  const stopObserving = observeAlarms(metrics, engine)
  const { SHARD: shard, RETENTION_DAYS: keepDays } = config
  const watchdog = new Watchdog({ engine, shard, log, keepDays })
  const loops = running(
    startLoop({
      name: 'watchdog',
      idleMs: watchMs,
      log,
      runOnce: () => watchdog.runOnce(),
    }),
  )
  return {
    async stop(graceMs) {
      stopObserving()
      await loops.stop(graceMs)
    },
  }
}
