import { acceptRuns, prepareRun } from '@meridian/core/run/accept'
import { getRunResponse } from '@meridian/core/run/get'
import { listRunLogs } from '@meridian/core/run/logs'
import { retryPolicyValue, toRetryPolicy } from '@meridian/core/run/retry-policy'
import { createTenant, testCtx } from '@meridian/core/testing/factories'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Received, startTarget, type Target } from './target.ts'
import { type Bench, createBench, ended, targetOf } from './workers.ts'

let bench: Bench
let target: Target
/** Paths that are answered only when they are released, in the order of their requests. */
let gates: Map<string, (() => void)[]>

const open = async (environment: Record<string, string> = {}): Promise<void> => {
  bench = await createBench({ environment: { LEASE_SECONDS: '2', ...environment } })
}
beforeEach(async () => {
  gates = new Map()
  target = await startTarget(({ path }, response) => {
    const gate = gates.get(path)
    if (gate === undefined) response.end('ok')
    else gate.push(() => response.end('ok'))
  })
})
afterEach(async () => {
  await bench.close()
  await target.close()
})

const at = (path: string) => ({ target: targetOf(`${target.url}${path}`) })
const requestsTo = (path: string): Received[] => target.received.filter((request) => request.path === path)
const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('a target', () => {
  it('that hangs costs its own run a timeout, and the others nothing', async () => {
    await open({ EXECUTOR_CAPACITY: '4' })
    gates.set('/hang', [])
    await bench.startWorkers('dispatcher', 'executor', 'reaper')
    const once = toRetryPolicy(retryPolicyValue.parse({ limit: 0 }))
    const hanging = await bench.accept(
      ...Array.from({ length: 3 }, () => ({
        target: targetOf(`${target.url}/hang`, { timeout: 'PT1S' }),
        retry: once,
      })),
    )
    const others = await bench.accept(...Array.from({ length: 10 }, (_, index) => at(`/fast/${index}`)))
    await Promise.all(others.map((run) => ended(bench.ctx, run.id)))
    for (const run of hanging) {
      const after = await ended(bench.ctx, run.id)
      expect(after).toMatchObject({ status: 'failed', error: 'timeout', attempt: 1 })
      expect(after.durationMs).toBeGreaterThanOrEqual(1_000)
      expect(after.durationMs).toBeLessThan(3_000)
    }
    expect(others.length).toBe(10)
  })

  it('that takes longer than a lease is waited for', async () => {
    await open()
    gates.set('/slow', [])
    await bench.startWorkers('dispatcher', 'executor', 'reaper')
    const [run] = await bench.accept(at('/slow'))
    await until(() => requestsTo('/slow').length === 1)
    await bench.db.owner.query('select pg_sleep(3)')
    gates.get('/slow')?.[0]?.()
    expect(await ended(bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(requestsTo('/slow')).toHaveLength(1)
  })

  it('that answers more than is kept leaves its beginning, and says so', async () => {
    await open({ RESPONSE_INLINE_BYTES: '1000' })
    const talkative = await startTarget((_request, response) => response.end('x'.repeat(50_000)))
    await bench.startWorkers('dispatcher', 'executor')
    const [run] = await bench.accept({ target: targetOf(`${talkative.url}/long`) })
    await ended(bench.ctx, run?.id ?? '')
    const kept = await getRunResponse(bench.ctx, run?.id ?? '')
    expect(kept).toMatchObject({ httpStatus: 200, truncated: true, objectKey: null })
    expect(kept?.body).toBe('x'.repeat(1_000))
    await talkative.close()
  })

  it('of a tenant whose keys were destroyed is not called, and nobody else waits for that', async () => {
    await open()
    const erased = testCtx(bench.db, await createTenant(bench.db), { keyRing: bench.ctx.keyRing })
    const once = toRetryPolicy(retryPolicyValue.parse({ limit: 0 }))
    const row = await prepareRun(erased, { ...at('/erased'), retry: once })
    await acceptRuns(bench.db.app, [row], false)
    await bench.db.owner.query('update data_keys set wrapped = null, destroyed_at = now() where tenant_id = $1', [
      erased.tenantId,
    ])
    const workers = await bench.startWorkers('dispatcher', 'executor')
    expect(await ended(erased, row.id)).toMatchObject({ status: 'failed', error: 'unreadable' })
    const [refused] = await bench.accept({ target: targetOf('http://127.0.0.1:1/'), retry: once })
    expect(await ended(bench.ctx, refused?.id ?? '')).toMatchObject({ status: 'failed', error: 'connect-failed' })
    await until(async () => (await listRunLogs(bench.ctx, refused?.id ?? '', { limit: 5 })).items.length === 1)
    await workers.stop()
    expect(requestsTo('/erased')).toEqual([])
  })

  it('is sent large bodies too, by one executor within its memory', async () => {
    await open()
    await bench.startWorkers('dispatcher', 'executor')
    const body = 'y'.repeat(4_000_000)
    const runs = await bench.accept(
      ...Array.from({ length: 6 }, (_, index) => ({ target: targetOf(`${target.url}/large/${index}`, { body }) })),
    )
    for (const run of runs) expect(await ended(bench.ctx, run.id)).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(target.received.every((request) => request.body.length === body.length)).toBe(true)
  })
})
