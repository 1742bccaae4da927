import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { escapeHtml, page, sendJson, sendPage } from './page.ts'
import { readBody, serve } from './serve.ts'

/** One request that the demo target got. */
export interface Received {
  receivedAt: string
  method: string
  path: string
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

const remembered = 200
const slowMs = 2_000

/**
 * A server for the demo jobs to call: `/ok`, `/slow` (two seconds), `/flaky` (fails until the third attempt) and
 * `/fail`. It logs what it gets as a JSON line each; `/` shows the newest, `/received` gives them as JSON.
 */
export async function startDemoTarget(port: number): Promise<Server> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    answer(request, response, received).catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      response.destroy()
    })
  })
  await serve(server, port)
  return server
}

async function answer(request: IncomingMessage, response: ServerResponse, received: Received[]): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://target').pathname
  if (path === '/') return sendPage(response, 200, receivedPage(received))
  if (path === '/received') return sendJson(response, 200, received)
  const body = (await readBody(request)).toString('utf8')
  const status = statusFor(path, request)
  const entry: Received = {
    receivedAt: new Date().toISOString(),
    method: request.method ?? '',
    path,
    status,
    headers: request.headers,
    body,
  }
  received.unshift(entry)
  received.splice(remembered)
  process.stdout.write(`${JSON.stringify(entry)}\n`)
  if (path === '/slow') await sleep(slowMs)
  sendJson(response, status, status === 200 ? { ok: true } : { ok: false, reason: `${path} answers ${status}` })
}

function statusFor(path: string, request: IncomingMessage): number {
  if (path === '/ok' || path === '/slow') return 200
  if (path === '/fail') return 500
  if (path === '/flaky') return Number(request.headers['meridian-attempt'] ?? 1) < 3 ? 503 : 200
  return 404
}

function receivedPage(received: Received[]): string {
  const rows = received.map(
    ({ receivedAt, method, path, status, headers, body }) =>
      `<tr><td><time>${receivedAt}</time><td>${escapeHtml(`${method} ${path}`)}<td>${status}
      <td>${escapeHtml(String(headers['meridian-run-id'] ?? ''))}<td>${escapeHtml(body.slice(0, 200))}</tr>`,
  )
  return page(
    'Demo target',
    `<h1>Demo target</h1><p>What the demo jobs sent, newest first. <a href="/received">JSON</a></p>
    <table><thead><tr><th>Received<th>Request<th>Answer<th>Run<th>Body</thead><tbody>${rows.join('')}</tbody></table>`,
  )
}

if (import.meta.main) await startDemoTarget(Number(process.env.PORT))
