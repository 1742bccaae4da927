import { cancelRun } from '@meridian/core/run/cancel'
import { getRunRequest, getRunResponse, listAttempts } from '@meridian/core/run/get'
import { listRuns } from '@meridian/core/run/list'
import { listRunLogs } from '@meridian/core/run/logs'
import { retryPolicyValue, toRetryPolicy } from '@meridian/core/run/retry-policy'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTarget, type Target } from './target.ts'
import { type Bench, createBench, ended, targetOf } from './workers.ts'

let bench: Bench
let target: Target
const failures = new Map<string, number>()

beforeAll(async () => {
  bench = await createBench()
  target = await startTarget((request, response) => {
    const [, verb, key, count] = request.path.split('/')
    if (verb === 'fail') {
      const seen = (failures.get(key ?? '') ?? 0) + 1
      failures.set(key ?? '', seen)
      response.writeHead(seen <= Number(count) ? 503 : 200).end(`try ${seen}`)
    } else if (verb === 'never-again') response.writeHead(503, { 'meridian-retry': 'no' }).end()
    else if (verb === 'hang') setTimeout(() => response.end('late'), 10_000).unref()
    else if (verb === 'status') response.writeHead(Number(key)).end('{"why":"so"}')
    else response.end(JSON.stringify({ got: request.body }))
  })
  await bench.startWorkers('dispatcher', 'executor', 'reaper', 'relay')
})
afterAll(async () => {
  await bench.close()
  await target.close()
})

const noWait = toRetryPolicy(retryPolicyValue.parse({ limit: 3, delay: 'PT0.01S', maxDelay: 'PT0.02S' }))

it('a run that is due now is performed once, and its response is kept', async () => {
  const [accepted] = await bench.accept({
    target: targetOf(`${target.url}/ok`, { body: { hello: 'wörld' }, headers: { 'x-one': '1' } }),
  })
  expect(accepted).toMatchObject({ status: 'ready', attempt: 0 })
  const run = await ended(bench.ctx, accepted?.id ?? '')
  expect(run).toMatchObject({ status: 'succeeded', attempt: 1, httpStatus: 200, error: null })
  expect(run.latenessMs).toBeGreaterThanOrEqual(0)
  const seen = target.received.filter((request) => request.headers['x-one'] === '1')
  expect(seen).toHaveLength(1)
  expect(seen[0]?.headers).toMatchObject({ 'meridian-attempt': '1', 'content-type': 'application/json' })
  expect(await getRunResponse(bench.ctx, run.id)).toMatchObject({
    httpStatus: 200,
    body: '{"got":"{\\"hello\\":\\"wörld\\"}"}',
    truncated: false,
  })
  expect(await getRunRequest(bench.ctx, run.id)).toMatchObject({ method: 'POST', body: '{"hello":"wörld"}' })
  expect(await listAttempts(bench.ctx, run.id)).toMatchObject([{ attempt: 1, status: 'succeeded' }])
})

it('a failing target is tried again, every attempt is kept, and the run ends once', async () => {
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/fail/a/2`), retry: noWait })
  const run = await ended(bench.ctx, accepted?.id ?? '')
  expect(run).toMatchObject({ status: 'succeeded', attempt: 3 })
  expect(await listAttempts(bench.ctx, run.id)).toMatchObject([
    { attempt: 1, status: 'failed', httpStatus: 503, error: 'http-status' },
    { attempt: 2, status: 'failed', httpStatus: 503 },
    { attempt: 3, status: 'succeeded', httpStatus: 200 },
  ])
  expect(await getRunResponse(bench.ctx, run.id, 1)).toMatchObject({ httpStatus: 503, body: 'try 1' })
  const lines = await waitForLines(run.id, 2)
  expect(lines[0]?.message).toMatch(/^Attempt 1 failed .* 503/)
})

async function waitForLines(
  runId: string,
  count: number,
): ReturnType<typeof listRunLogs> extends Promise<infer Page>
  ? Promise<Page extends { items: infer Items } ? Items : never>
  : never {
  for (;;) {
    const { items } = await listRunLogs(bench.ctx, runId, { limit: 50 })
    if (items.length >= count) return items
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

it('a run fails when its tries are used up', async () => {
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/fail/b/99`), retry: noWait })
  const run = await ended(bench.ctx, accepted?.id ?? '')
  expect(run).toMatchObject({ status: 'failed', attempt: 4, httpStatus: 503, error: 'http-status' })
  expect(failures.get('b')).toBe(4)
})

it('a refusal by the target is not tried again', async () => {
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/status/422`), retry: noWait })
  expect(await ended(bench.ctx, accepted?.id ?? '')).toMatchObject({ status: 'failed', attempt: 1, httpStatus: 422 })
})

it('a refusal by the target is tried again where the policy says so', async () => {
  const retry = toRetryPolicy(
    retryPolicyValue.parse({ limit: 5, rules: [{ on: ['4xx'], strategy: 'fixed', delay: 'PT0.01S', limit: 2 }] }),
  )
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/status/409`), retry })
  expect(await ended(bench.ctx, accepted?.id ?? '')).toMatchObject({ status: 'failed', attempt: 3, httpStatus: 409 })
})

it('a target that forbids a further try is not called again', async () => {
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/never-again`), retry: noWait })
  expect(await ended(bench.ctx, accepted?.id ?? '')).toMatchObject({ status: 'failed', attempt: 1, httpStatus: 503 })
})

it('no further try begins later than the policy allows after the run was due', async () => {
  const retry = toRetryPolicy(retryPolicyValue.parse({ delays: ['PT0.01S', 'PT0.01S', 'PT10S'], maxAge: 'PT5S' }))
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/fail/old/99`), retry })
  expect(await ended(bench.ctx, accepted?.id ?? '')).toMatchObject({ status: 'failed', attempt: 3, httpStatus: 503 })
})

it('an answer that is not as expected is a failure that says what is wrong, and is tried again', async () => {
  const expect_ = { json: [{ path: '$.why', equals: 'else' }] }
  const [accepted] = await bench.accept({
    target: { ...targetOf(`${target.url}/status/200`), expect: expect_ },
    retry: noWait,
  })
  const run = await ended(bench.ctx, accepted?.id ?? '')
  expect(run).toMatchObject({ status: 'failed', attempt: 4, httpStatus: 200, error: 'unexpected-response' })
  const lines = await waitForLines(run.id, 4)
  expect(lines.at(-1)?.message).toMatch(/\$\.why is "so", not "else"\./)
})

it('a status that is expected is a success', async () => {
  const [accepted] = await bench.accept({
    target: { ...targetOf(`${target.url}/status/404`), expect: { status: ['404'] } },
  })
  expect(await ended(bench.ctx, accepted?.id ?? '')).toMatchObject({
    status: 'succeeded',
    httpStatus: 404,
    error: null,
  })
})

it('an attempt is cut where its run has to have ended, and the run expires', async () => {
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/hang`), endWithinMs: 1_000 })
  const run = await ended(bench.ctx, accepted?.id ?? '')
  expect(run).toMatchObject({ status: 'expired', attempt: 1, error: 'end-deadline' })
})

it('no further try begins when the run has to have ended by then', async () => {
  const retry = toRetryPolicy(retryPolicyValue.parse({ delays: ['PT0.01S', 'PT20S'] }))
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/fail/c/99`), retry, endWithinMs: 10_000 })
  expect(await ended(bench.ctx, accepted?.id ?? '')).toMatchObject({ status: 'failed', attempt: 2, httpStatus: 503 })
})

it('a run that is due later starts at its instant, never early', async () => {
  const dueAt = new Date(Date.now() + 600)
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/later`), dueAt })
  expect(accepted).toMatchObject({ status: 'scheduled', dueAt })
  const run = await ended(bench.ctx, accepted?.id ?? '')
  const seen = target.received.find((request) => request.path === '/later')
  expect(seen?.atMs).toBeGreaterThanOrEqual(dueAt.getTime())
  expect(run.latenessMs).toBeGreaterThanOrEqual(0)
  expect(run.latenessMs).toBeLessThan(1_000)
})

it('a running run can be cancelled; what its executor reports later is refused', async () => {
  const [accepted] = await bench.accept({ target: targetOf(`${target.url}/hang/long`) })
  const id = accepted?.id ?? ''
  while (!target.received.some((request) => request.path === '/hang/long'))
    await new Promise((resolve) => setTimeout(resolve, 10))
  const { run, interrupt } = await cancelRun(bench.ctx, id)
  expect(run).toMatchObject({ status: 'cancelled', attempt: 1 })
  expect(interrupt).toMatchObject({ runId: id })
  expect((await cancelRun(bench.ctx, id)).run.status).toBe('cancelled')
})

it('five hundred runs at once each end once', async () => {
  const runs = await bench.accept(
    ...Array.from({ length: 500 }, (_, index) => ({ target: targetOf(`${target.url}/many/${index}`) })),
  )
  const all = await Promise.all(runs.map((run) => ended(bench.ctx, run.id)))
  expect(new Set(all.map((run) => run.status))).toEqual(new Set(['succeeded']))
  const seen = target.received.filter((request) => request.path.startsWith('/many/')).map((request) => request.path)
  expect(seen).toHaveLength(500)
  expect(new Set(seen).size).toBe(500)
  const page = await listRuns(bench.ctx, { status: ['succeeded'] }, { limit: 100 })
  expect(page.items).toHaveLength(100)
  expect(page.nextCursor).not.toBeNull()
})
