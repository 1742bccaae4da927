import { describe, expect, it } from 'vitest'
import { openScene, until } from './scene.ts'
import { ended } from './workers.ts'

describe('an executor', () => {
  it('frozen beyond its lease: another performs the run, and what it reports when it thaws is refused', async () => {
    const scene = await openScene()
    scene.gates.set('/frozen', [])
    const frozen = await scene.spawn(['executor'])
    await scene.bench.startWorkers('dispatcher', 'reaper')
    const [run] = await scene.bench.accept(scene.at('/frozen'))
    await until(() => scene.requestsTo('/frozen').length === 1)
    frozen.signal('SIGSTOP')
    await scene.bench.startWorkers('executor')
    await until(() => scene.requestsTo('/frozen').length === 2)
    scene.gates.get('/frozen')?.[1]?.()
    expect(await ended(scene.bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded', attempt: 2, fence: 2 })
    scene.gates.get('/frozen')?.[0]?.()
    frozen.signal('SIGCONT')
    scene.gates.delete('/frozen')
    await frozen.logged('reports came too late and were refused')
    expect(await ended(scene.bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded', attempt: 2, fence: 2 })
    await scene.allSucceed(run === undefined ? [] : [run])
    // The thawed one is well, and its queued work went elsewhere.
    await scene.allSucceed(
      await scene.bench.accept(...Array.from({ length: 20 }, (_, index) => scene.at(`/after/${index}`))),
    )
    expect(new Set(scene.target.received.map((request) => request.path)).size).toBe(21)
  })

  it('that gets a run again while its own lost attempt is still going on keeps the new one', async () => {
    const scene = await openScene()
    scene.gates.set('/again', [])
    await scene.bench.startWorkers('dispatcher', 'executor', 'reaper')
    const [run] = await scene.bench.accept(scene.at('/again'))
    await until(() => scene.requestsTo('/again').length === 1)
    // Again and again, since the executor, which lives, renews what the reaper has not seen yet.
    await until(async () => {
      await scene.bench.db.owner.query(
        "update held set lease_until = clock_timestamp() - interval '1 second' where fence = 1",
      )
      return scene.requestsTo('/again').length === 2
    })
    scene.gates.get('/again')?.[0]?.()
    // Longer than a lease: it must be renewed, though the end of the old attempt has been seen.
    const { rows } = await scene.bench.db.owner.query<{ attempt: number }>(
      'select pg_sleep(3), (select attempt from held)',
    )
    expect(rows[0]?.attempt).toBe(2)
    scene.gates.get('/again')?.[1]?.()
    expect(await ended(scene.bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded', attempt: 2 })
    expect(scene.requestsTo('/again')).toHaveLength(2)
  })

  it('told to stop finishes what has begun, hands back what has not, and no attempt is lost', async () => {
    const scene = await openScene()
    scene.gates.set('/begun', [])
    const leaving = await scene.spawn(['executor'], { EXECUTOR_CAPACITY: '1' })
    await scene.bench.startWorkers('dispatcher', 'reaper')
    const runs = await scene.bench.accept(
      scene.at('/begun'),
      ...Array.from({ length: 5 }, (_, index) => scene.at(`/waiting/${index}`)),
    )
    await until(async () => scene.requestsTo('/begun').length === 1 || scene.requestsTo('/waiting/0').length > 0)
    await until(async () => (await scene.count('held where state = 3')) >= 1)
    leaving.signal('SIGTERM')
    await leaving.logged('stopping')
    await scene.bench.startWorkers('executor')
    const began = performance.now()
    const others = await Promise.all(runs.slice(1).map((run) => ended(scene.bench.ctx, run.id)))
    expect(performance.now() - began).toBeLessThan(2_000)
    expect(others.every((run) => run.status === 'succeeded' && run.attempt === 1)).toBe(true)
    await until(() => (scene.gates.get('/begun')?.length ?? 0) > 0)
    for (const release of scene.gates.get('/begun') ?? []) release()
    scene.gates.delete('/begun')
    expect(await leaving.exited).toBe(0)
    for (const run of await scene.allSucceed(runs)) expect(run.attempt).toBe(1)
    expect(scene.target.received).toHaveLength(6)
  })
})
