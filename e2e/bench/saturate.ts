import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'

/** A request to send again and again over a fixed number of connections. */
export interface Barrage {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  /** Gives each request an `Idempotency-Key` of its own that starts with this. */
  keyPrefix?: string
  connections: number
  seconds: number
}

/** What came of it. Latencies in milliseconds. */
export interface BarrageResult {
  perSecond: number
  p50: number
  p95: number
  p99: number
  /** Answers that were no 2xx, and requests without an answer. */
  failures: number
  tool: 'wrk' | 'autocannon'
}

/** As many requests a second as the server takes: by wrk where there is one, else by autocannon. */
export async function saturate(barrage: Barrage): Promise<BarrageResult> {
  const hasWrk = spawnSync('wrk', ['-v'], { stdio: 'ignore' }).error === undefined
  return hasWrk ? runWrk(barrage) : runAutocannon(barrage)
}

async function runWrk(barrage: Barrage): Promise<BarrageResult> {
  const folder = mkdtempSync(join(tmpdir(), 'meridian-wrk-'))
  try {
    const script = join(folder, 'barrage.lua')
    writeFileSync(script, wrkScript(barrage))
    const child = spawn(
      'wrk',
      ['-t1', `-c${barrage.connections}`, `-d${barrage.seconds}s`, '--timeout', '30s', '-s', script, barrage.url],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const output: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
    await new Promise((done) => child.once('close', done))
    const line = /^RESULT (.*)$/m.exec(Buffer.concat(output).toString())?.[1]
    if (line === undefined) throw new Error(`wrk gave no result: ${Buffer.concat(output).toString()}`)
    return { ...(JSON.parse(line) as Omit<BarrageResult, 'tool'>), tool: 'wrk' }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function wrkScript({ method, headers, body, keyPrefix }: Barrage): string {
  // JSON strings of printable ASCII are Lua strings, too.
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  )
  const keyed = `
local sent = 0
request = function()
  sent = sent + 1
  wrk.headers["idempotency-key"] = ${JSON.stringify(keyPrefix)} .. sent
  return wrk.format()
end`
  return `
wrk.method = ${JSON.stringify(method)}
${lines.join('\n')}
${body === undefined ? '' : `wrk.body = ${JSON.stringify(body)}`}
${keyPrefix === undefined ? '' : keyed}
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format('RESULT {"perSecond":%f,"p50":%f,"p95":%f,"p99":%f,"failures":%d}\\n',
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1e3, latency:percentile(95) / 1e3,
    latency:percentile(99) / 1e3, errors.connect + errors.read + errors.write + errors.timeout + errors.status))
end
`
}

async function runAutocannon(barrage: Barrage): Promise<BarrageResult> {
  let sent = 0
  const result = await autocannon({
    url: barrage.url,
    connections: barrage.connections,
    duration: barrage.seconds,
    requests: [
      {
        method: barrage.method,
        headers: barrage.headers,
        ...(barrage.body === undefined ? {} : { body: barrage.body }),
        setupRequest: (request) => {
          if (barrage.keyPrefix === undefined) return request
          sent += 1
          return { ...request, headers: { ...request.headers, 'idempotency-key': `${barrage.keyPrefix}${sent}` } }
        },
      },
    ],
  })
  return {
    perSecond: result['2xx'] / result.duration,
    p50: result.latency.p50,
    p95: result.latency.p97_5,
    p99: result.latency.p99,
    failures: result.non2xx + result.errors + result.timeouts,
    tool: 'autocannon',
  }
}
