// What the guarded client costs: `node workers/bench/outbound.ts <url of a no-op target> [rounds] [seconds]`.
// Every contender runs once per round against the same target; compare the columns, not absolute figures.
import { uuidv7 } from '@meridian/core/kernel/ids'
import { Pool } from 'undici'
import { createOutbound } from '../src/outbound.ts'
import { performHttp } from '../src/perform/http.ts'

const [url = '', rounds = '5', seconds = '2'] = process.argv.slice(2)
const { origin, pathname } = new URL(url)
const body = Buffer.from(JSON.stringify({ order: 1, note: 'x'.repeat(900) }))
const inFlight = 64

const bare = new Pool(origin, { connections: inFlight, pipelining: 1 })
const bareDispatch = (headers: string[]): Promise<number> =>
  new Promise((resolve, reject) => {
    let status = 0
    bare.dispatch(
      { path: pathname, method: 'POST', headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code
        },
        onResponseData() {},
        onResponseEnd: () => resolve(status),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })

const outbound = createOutbound({ allowPrivate: true })
const keeping = { inlineBytesMax: 65_536, keptBytesMax: 1_048_576, storeBody: null, onStoreError: () => undefined }
const headers = { authorization: 'Bearer x', 'x-tenant': 't1' }
const plainHeaders = ['content-type', 'application/json']
const runId = uuidv7(Date.now())
const sameHeaders = [
  ['meridian-run-id', 'run_01h455vb4pex5vsknk084sn02q', 'meridian-attempt', '1', 'meridian-fence', '1'],
  ['meridian-nominal-at', '2026-03-29T05:25:00.000Z', 'meridian-due-at', '2026-03-29T05:25:00.000Z'],
  ['idempotency-key', 'run_01h455vb4pex5vsknk084sn02q', 'user-agent', 'Meridian/1'],
  ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'accept-encoding', 'identity'],
  ['content-type', 'application/json', 'authorization', 'Bearer x', 'x-tenant', 't1'],
].flat()

const contenders: Record<string, () => Promise<unknown>> = {
  'undici dispatch': () => bareDispatch(plainHeaders),
  'undici dispatch, same headers': () => bareDispatch(sameHeaders),
  'outbound.request, same headers': () =>
    outbound.request({ method: 'POST', url, headers: sameHeaders, body, timeoutMs: 30_000, bodyBytesMax: 65_536 }),
  performHttp: () =>
    performHttp(
      outbound,
      {
        tenantId: runId,
        runId,
        attempt: 1,
        fence: 1,
        nominalAtMs: null,
        dueAtMs: Date.now(),
        method: 'POST',
        url,
        headers,
        body,
        timeoutMs: 30_000,
      },
      keeping,
    ),
}

async function measure(call: () => Promise<unknown>, ms: number): Promise<{ rate: number; cpuUs: number }> {
  const before = process.cpuUsage()
  const startedAt = performance.now()
  let count = 0
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() - startedAt < ms) {
        await call()
        count++
      }
    }),
  )
  const { user, system } = process.cpuUsage(before)
  return { rate: (count / (performance.now() - startedAt)) * 1_000, cpuUs: (user + system) / count }
}

const results = new Map(Object.keys(contenders).map((name) => [name, { rate: [] as number[], cpuUs: [] as number[] }]))
for (const call of Object.values(contenders)) await measure(call, 1_000)
for (let round = 0; round < Number(rounds); round++) {
  for (const [name, call] of Object.entries(contenders)) {
    const { rate, cpuUs } = await measure(call, Number(seconds) * 1_000)
    results.get(name)?.rate.push(rate)
    results.get(name)?.cpuUs.push(cpuUs)
  }
}
const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
for (const [name, { rate, cpuUs }] of results) {
  console.log(`${name.padEnd(32)} ${Math.round(median(rate))} requests/s, ${median(cpuUs).toFixed(1)} us of CPU each`)
}
await Promise.all([bare.close(), outbound.close()])
