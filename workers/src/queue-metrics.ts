import { type Pool, runNamed } from '@meridian/core/db/client'
import type { Metrics } from '@meridian/core/kernel/metrics'

const ageMs = 5_000
const countMax = 100_000

/** How many runs wait where, and how the pool of connections does; looked up when asked, at most every 5 s. */
export function observeQueues({ meter }: Metrics, engine: Pool, poolId: number): () => void {
  let readAtMs = Number.NEGATIVE_INFINITY
  let depths: [string, number][] = []
  const runs = meter.createObservableGauge('meridian_runs', {
    description: `Open runs by state; counting stops at ${countMax}`,
  })
  const observe = async (result: { observe(value: number, labels: Record<string, string>): void }): Promise<void> => {
    if (performance.now() - readAtMs > ageMs) {
      readAtMs = performance.now()
      depths = await readDepths(engine, poolId).catch(() => depths)
    }
    for (const [state, count] of depths) result.observe(count, { state, pool: String(poolId) })
  }
  runs.addCallback(observe)
  const connections = meter.createObservableGauge('meridian_database_connections', {
    description: 'Connections of this process',
  })
  const observePool = (result: { observe(value: number, labels: Record<string, string>): void }): void => {
    result.observe(engine.totalCount, { state: 'total' })
    result.observe(engine.idleCount, { state: 'idle' })
    result.observe(engine.waitingCount, { state: 'waiting' })
  }
  connections.addCallback(observePool)
  return () => {
    runs.removeCallback(observe)
    connections.removeCallback(observePool)
  }
}

async function readDepths(engine: Pool, poolId: number): Promise<[string, number][]> {
  const rows = await runNamed<[number, number, number, number]>(
    engine,
    'pool_depths',
    `select (select count(*)::int from (select 1 from due where pool = $1 limit ${countMax}) x),
      (select count(*)::int from (select 1 from ready where pool in ($1, -$1::smallint, $1::smallint + 1000) limit ${countMax}) x),
      (select count(*)::int from held where pool = $1 and state = 2), (select count(*)::int from held where pool = $1 and state = 3)`,
    [poolId],
  )
  const [scheduled, ready, queued, running] = rows[0] ?? [0, 0, 0, 0]
  return [
    ['scheduled', scheduled],
    ['ready', ready],
    ['queued', queued],
    ['running', running],
  ]
}
