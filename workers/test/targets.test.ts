import { acceptRuns } from '@meridian/core/run/accept'
import { getRunResponse } from '@meridian/core/run/get'
import { listRunLogs } from '@meridian/core/run/logs'
import { prepareRun } from '@meridian/core/run/prepare'
import { retryPolicyValue, toRetryPolicy } from '@meridian/core/run/retry-policy'
import { createTenant, testCtx } from '@meridian/core/testing/factories'
import { describe, expect, it } from 'vitest'
import { openScene, until } from './scene.ts'
import { startTarget } from './target.ts'
import { ended, targetOf } from './workers.ts'

describe('a target', () => {
  it('that hangs costs its own run a timeout, and the others nothing', async () => {
    const scene = await openScene({ environment: { EXECUTOR_CAPACITY: '4' } })
    scene.gates.set('/hang', [])
    await scene.bench.startWorkers('dispatcher', 'executor', 'reaper')
    const once = toRetryPolicy(retryPolicyValue.parse({ limit: 0 }))
    const hanging = await scene.bench.accept(
      ...Array.from({ length: 3 }, () => ({
        target: targetOf(`${scene.target.url}/hang`, { timeout: 'PT1S' }),
        retry: once,
      })),
    )
    const others = await scene.bench.accept(...Array.from({ length: 10 }, (_, index) => scene.at(`/fast/${index}`)))
    await Promise.all(others.map((run) => ended(scene.bench.ctx, run.id)))
    for (const run of hanging) {
      const after = await ended(scene.bench.ctx, run.id)
      expect(after).toMatchObject({ status: 'failed', error: 'timeout', attempt: 1 })
      expect(after.durationMs).toBeGreaterThanOrEqual(1_000)
      expect(after.durationMs).toBeLessThan(3_000)
    }
    expect(others.length).toBe(10)
  })

  it('that takes longer than a lease is waited for', async () => {
    const scene = await openScene()
    scene.gates.set('/slow', [])
    await scene.bench.startWorkers('dispatcher', 'executor', 'reaper')
    const [run] = await scene.bench.accept(scene.at('/slow'))
    await until(() => scene.requestsTo('/slow').length === 1)
    await scene.bench.db.owner.query('select pg_sleep(3)')
    scene.gates.get('/slow')?.[0]?.()
    expect(await ended(scene.bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(scene.requestsTo('/slow')).toHaveLength(1)
  })

  it('that answers more than is kept leaves its beginning, and says so', async () => {
    const scene = await openScene({ environment: { RESPONSE_INLINE_BYTES: '1000' } })
    const talkative = await startTarget((_request, response) => response.end('x'.repeat(50_000)))
    await scene.bench.startWorkers('dispatcher', 'executor')
    const [run] = await scene.bench.accept({ target: targetOf(`${talkative.url}/long`) })
    await ended(scene.bench.ctx, run?.id ?? '')
    const kept = await getRunResponse(scene.bench.ctx, run?.id ?? '')
    expect(kept).toMatchObject({ httpStatus: 200, truncated: true, objectKey: null })
    expect(kept?.body).toBe('x'.repeat(1_000))
    await talkative.close()
  })

  it('of a tenant whose keys were destroyed is not called, and nobody else waits for that', async () => {
    const scene = await openScene()
    const erased = testCtx(scene.bench.db, await createTenant(scene.bench.db), { keyRing: scene.bench.ctx.keyRing })
    const once = toRetryPolicy(retryPolicyValue.parse({ limit: 0 }))
    const row = await prepareRun(erased, { ...scene.at('/erased'), retry: once })
    await acceptRuns({ pool: scene.bench.db.app, keyRing: erased.keyRing }, [row], false)
    await scene.bench.db.owner.query('update data_keys set wrapped = null, destroyed_at = now() where tenant_id = $1', [
      erased.tenantId,
    ])
    const workers = await scene.bench.startWorkers('dispatcher', 'executor')
    expect(await ended(erased, row.id)).toMatchObject({ status: 'failed', error: 'unreadable' })
    const [refused] = await scene.bench.accept({ target: targetOf('http://127.0.0.1:1/'), retry: once })
    expect(await ended(scene.bench.ctx, refused?.id ?? '')).toMatchObject({ status: 'failed', error: 'connect-failed' })
    await until(async () => (await listRunLogs(scene.bench.ctx, refused?.id ?? '', { limit: 5 })).items.length === 1)
    await workers.stop()
    expect(scene.requestsTo('/erased')).toEqual([])
  })

  it('is sent large bodies too, by one executor within its memory', async () => {
    const scene = await openScene()
    await scene.bench.startWorkers('dispatcher', 'executor')
    const body = 'y'.repeat(4_000_000)
    const runs = await scene.bench.accept(
      ...Array.from({ length: 6 }, (_, index) => ({
        target: targetOf(`${scene.target.url}/large/${index}`, { body }),
      })),
    )
    for (const run of runs)
      expect(await ended(scene.bench.ctx, run.id)).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(scene.target.received.every((request) => request.body.length === body.length)).toBe(true)
  })
})
