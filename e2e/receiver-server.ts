/**
 * The target of the fault tests: `node e2e/receiver-server.ts [--log FILE]`.
 *
 * A request to `/<label>/<behaviour>[/<argument>...]` is written down first, then answered as its path says. The label
 * keeps tests that share one receiver apart. The log is append-only: a line a request, in the order of arrival.
 * A second port is for the test: it reads the log, forgets it, counts it.
 */
import { createWriteStream } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { parseArgs } from 'node:util'
import type { ReceivedRequest } from './receiver.ts'
import { createControl, listen } from './receiver-control.ts'

const { values } = parseArgs({ options: { log: { type: 'string' } } })
const file = values.log === undefined ? undefined : createWriteStream(values.log, { flags: 'a' })

let received: ReceivedRequest[] = []
let unwritten: string[] = []
const triesOfRun = new Map<string, number>()

function writeLog(): void {
  if (unwritten.length === 0) return
  file?.write(unwritten.join(''))
  unwritten = []
}
setInterval(writeLog, 20).unref()

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

function note(request: IncomingMessage, label: string, path: string): ReceivedRequest {
  const run = header(request, 'meridian-run-id') ?? header(request, 'x-run') ?? ''
  const key = `${label} ${run}`
  const tries = (triesOfRun.get(key) ?? 0) + 1
  triesOfRun.set(key, tries)
  const entry: ReceivedRequest = {
    label,
    path,
    run,
    attempt: Number(header(request, 'meridian-attempt') ?? tries),
    tries,
    fence: header(request, 'meridian-fence'),
    nominalAt: header(request, 'meridian-nominal-at'),
    dueAt: header(request, 'meridian-due-at'),
    idempotencyKey: header(request, 'idempotency-key'),
    receivedAtMs: Number(Temporal.Now.instant().epochNanoseconds / 1_000n) / 1_000,
    monotonicMs: performance.now(),
  }
  received.push(entry)
  if (file !== undefined) unwritten.push(`${JSON.stringify(entry)}\n`)
  return entry
}

type Behaviour = (
  response: ServerResponse,
  args: readonly string[],
  entry: ReceivedRequest,
  request: IncomingMessage,
) => void

const ok: Behaviour = (response) => answer(response, 200)

const behaviours: Record<string, Behaviour> = {
  ok,
  slow: (response, [ms]) => void setTimeout(() => answer(response, 200), Number(ms)),
  hang: () => undefined,
  status: (response, [status]) => answer(response, Number(status)),
  fail: (response, [times, status], { tries }) =>
    answer(response, tries <= Number(times) ? Number(status ?? 500) : 200),
  'retry-after': (response, [seconds, times], { tries }) =>
    tries <= Number(times) ? answer(response, 429, { 'retry-after': String(seconds) }) : answer(response, 200),
  'retry-at': (response, [seconds, times], { tries }) =>
    tries <= Number(times)
      ? answer(response, 429, { 'retry-after': new Date(Date.now() + Number(seconds) * 1_000).toUTCString() })
      : answer(response, 200),
  reset: (response) => void response.socket?.resetAndDestroy(),
  redirect: (response, [status], _entry, request) =>
    answer(response, Number(status), {
      location: new URL(request.url ?? '/', 'http://receiver').searchParams.get('to') ?? '/',
    }),
  echo: (response, _args, _entry, request) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({ method: request.method, headers: request.headers, body: Buffer.concat(chunks).toString() }),
      )
    })
  },
}

function answer(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end('{"received":true}')
}

const target = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
  const [label = '', name = 'ok', ...args] = path.slice(1).split('/')
  const entry = note(request, label, path)
  if (name !== 'echo') request.resume()
  const behaviour = behaviours[name]
  if (behaviour === undefined) answer(response, 404)
  else behaviour(response, args, entry, request)
})

const ofLabel = (label: string | null) =>
  label === null ? received : received.filter((entry) => entry.label === label)
const control = createControl({
  count: (label) => ofLabel(label).length,
  read: (label) => {
    writeLog()
    return ofLabel(label)
  },
  forget: (label) => {
    received = label === null ? [] : received.filter((entry) => entry.label !== label)
    if (label === null) triesOfRun.clear()
  },
})

process.on('SIGTERM', () => {
  writeLog()
  if (file === undefined) process.exit(0)
  file.end(() => process.exit(0))
})

const ready = { port: await listen(target), controlPort: await listen(control) }
process.stdout.write(`${JSON.stringify(ready)}\n`)
