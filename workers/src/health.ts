import { createServer } from 'node:http'
import type { Pool } from '@meridian/core/db/client'
import type { Metrics } from '@meridian/core/kernel/metrics'

export interface Health {
  port: number
  close(): Promise<void>
}

/** `/health` (the process answers), `/ready` (the database does), `/metrics`; `/alarms` where a watchdog runs. */
export async function serveHealth(options: {
  host: string
  port: number
  engine: Pool
  metrics: Metrics
  roles: readonly string[]
  /** Open alarms by kind; where a watchdog runs. */
  alarms?: (() => Promise<Map<string, number>>) | undefined
}): Promise<Health> {
  const { engine, metrics, roles, alarms } = options
  const answers: Record<string, () => Promise<{ status: number; type: string; body: string }>> = {
    '/health': async () => json(200, { status: 'ok', roles }),
    '/ready': async () => {
      try {
        await engine.query('select 1')
        return json(200, { status: 'ready', roles })
      } catch {
        return json(503, { status: 'database-away', roles })
      }
    },
    '/alarms': async () => {
      if (alarms === undefined) return json(404, { status: 'not-found' })
      const open = await alarms().catch(() => null)
      if (open === null) return json(503, { status: 'database-away' })
      return json(open.size === 0 ? 200 : 503, {
        status: open.size === 0 ? 'well' : 'alarmed',
        alarms: Object.fromEntries(open),
      })
    },
    '/metrics': async () => {
      const { contentType, body } = await metrics.renderMetrics()
      return { status: 200, type: contentType, body }
    },
  }
  const server = createServer((request, response) => {
    const answer = answers[new URL(request.url ?? '/', 'http://local').pathname]
    const result = answer === undefined ? Promise.resolve(json(404, { status: 'not-found' })) : answer()
    result
      .catch(() => json(500, { status: 'error' }))
      .then(({ status, type, body }) => response.writeHead(status, { 'content-type': type }).end(body))
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(options.port, options.host, resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const json = (status: number, body: unknown): { status: number; type: string; body: string } => ({
  status,
  type: 'application/json',
  body: JSON.stringify(body),
})
