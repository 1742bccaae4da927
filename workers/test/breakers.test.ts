import { listBreakers } from '@meridian/core/breaker/list'
import { closeBreaker, openBreaker } from '@meridian/core/breaker/set-state'
import { updateBreakerSettings } from '@meridian/core/breaker/settings'
import { retryPolicyValue, toRetryPolicy } from '@meridian/core/run/retry-policy'
import { beforeEach, expect, it } from 'vitest'
import { openScene, type Scene, until } from './scene.ts'
import { type Received, startTarget, type Target } from './target.ts'
import { ended, targetOf } from './workers.ts'

const roles = ['dispatcher', 'executor', 'reaper', 'relay'] as const
const failuresMax = 3
const noRetry = toRetryPolicy(retryPolicyValue.parse({ limit: 0 }))

let scene: Scene
let mode: 'down' | 'hangs' | 'well'
/** Another host than the target of the scene. */
let failing: Target
const answered: Received[] = []
beforeEach(async () => {
  scene = await openScene()
  mode = 'down'
  answered.length = 0
  failing = await startTarget((request, response) => {
    if (mode === 'hangs') return
    response.writeHead(mode === 'down' ? 503 : 200).end()
    if (mode === 'well') answered.push(request)
  })
  await updateBreakerSettings(scene.bench.ctx, { failures: failuresMax })
  return () => failing.close()
})

const theBreaker = async () =>
  (await listBreakers(scene.bench.ctx, { all: true }, { limit: 10 })).items.find(
    ({ host }) => host === new URL(failing.url).host,
  )
const isOpen = async (): Promise<boolean> => (await theBreaker())?.state === 'open'
const at = (path: string, more = {}) => ({ target: targetOf(`${failing.url}${path}`), ...more })
/** Runs that spend their only attempt, until the breaker opens. */
const failUntilOpen = async (): Promise<void> => {
  await scene.bench.accept(...Array.from({ length: failuresMax }, () => at('/spent', { retry: noRetry })))
  await until(isOpen)
}

it('a host that fails is left alone, its runs wait without an attempt, and go in order when it is back', async () => {
  await scene.bench.startWorkers(...roles)
  await failUntilOpen()
  const startMs = Date.now()
  const runs = await scene.bench.accept(
    ...Array.from({ length: 40 }, (_, index) => at(`/${index}`, { dueAt: new Date(startMs + 2 * index) })),
  )
  const [elsewhere] = await scene.bench.accept(scene.at('/well'))
  expect(await ended(scene.bench.ctx, elsewhere?.id ?? '')).toMatchObject({ status: 'succeeded' })
  await until(async () => ((await theBreaker())?.held ?? 0) >= 35)
  mode = 'well'
  await scene.allSucceed(runs)
  // Those that were sent out to see whether the host is back met it down; each of them failed once, and no other.
  const failed = failing.received.length - answered.length
  expect(failed).toBeLessThanOrEqual(failuresMax + ((await theBreaker())?.probesFailed ?? 0))
  const firstTry = answered.filter(({ headers }) => headers['meridian-attempt'] === '1').map(({ path }) => path)
  expect(firstTry.length).toBeGreaterThan(30)
  const waves = firstTry.map((path) => Math.floor(Number(path.slice(1)) / 5))
  expect(waves).toEqual(waves.toSorted((a, b) => a - b))
  await until(async () => (await theBreaker())?.state === 'closed')
  expect(await scene.count('breaker_waits')).toBe(0)
})

it('an executor that dies with the probe, and an empty Redis, cost nothing but time', async () => {
  const doomed = await scene.spawn(['executor'])
  await scene.bench.startWorkers('dispatcher', 'reaper', 'relay')
  await failUntilOpen()
  mode = 'hangs'
  const runs = await scene.bench.accept(...Array.from({ length: 5 }, (_, index) => at(`/${index}`)))
  await failing.waitFor(failuresMax + 1)
  expect(await theBreaker()).toMatchObject({ state: 'half-open', held: 4 })
  doomed.signal('SIGKILL')
  await doomed.exited
  await scene.bench.publisher.flushdb()
  mode = 'well'
  await scene.bench.startWorkers('executor')
  const [probe, ...others] = await scene.allSucceed(runs)
  expect(probe).toMatchObject({ attempt: 2 })
  expect(others.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1])
  await until(async () => (await theBreaker())?.state === 'closed')
})

it('a host that a person holds is not called from that moment on', async () => {
  await scene.bench.startWorkers(...roles)
  const [before] = await scene.bench.accept(scene.at('/before'))
  await ended(scene.bench.ctx, before?.id ?? '')
  mode = 'well'
  const { id } = await openBreaker(scene.bench.ctx, { host: new URL(failing.url).host, reason: 'They move.' })
  const runs = await scene.bench.accept(at('/held'))
  await until(async () => (await theBreaker())?.held === 1)
  expect(failing.received).toEqual([])
  await closeBreaker(scene.bench.ctx, id, null)
  expect(await scene.allSucceed(runs)).toMatchObject([{ attempt: 1 }])
})
