import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { toWireId, uuidv7 } from '@meridian/core/kernel/ids'
import { createApp } from './app.ts'
import type { Services } from './http/env.ts'
import { HttpError, problemMediaType, toProblem } from './http/problems.ts'

export interface HttpServer {
  readonly port: number
  /** Takes no new connections and resolves when the last request has ended. */
  close(): Promise<void>
}

const keepAliveMs = 65_000
const headersTimeoutMs = 15_000
const requestTimeoutMs = 120_000
const sweepMs = 50

/** Starts listening. */
export async function listen(services: Services): Promise<HttpServer> {
  const { config } = services
  const app = createApp(services)
  const problemOf = (error: unknown): { status: number; body: string } => {
    const problem = toProblem(error, {
      docsBase: config.publicUrl,
      requestId: toWireId('req', uuidv7(services.clock.nowMs())),
    })
    return { status: problem.status, body: JSON.stringify(problem) }
  }
  const listener = getRequestListener(app.fetch, {
    // What the adapter refuses before the app sees it: a host or a URL that is none.
    errorHandler: () => {
      const { status, body } = problemOf(
        new HttpError('malformed-request', 'The request line or the Host header is not valid.'),
      )
      return new Response(body, { status, headers: { 'content-type': problemMediaType } })
    },
  })
  const server: Server = createServer(
    {
      keepAliveTimeout: keepAliveMs,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      noDelay: true,
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const detail = error.code === 'HPE_HEADER_OVERFLOW' ? 'The headers are larger than 16 KB.' : 'This is not HTTP.'
    const { body } = problemOf(new HttpError('malformed-request', detail))
    socket.end(
      `HTTP/1.1 400 Bad Request\r\ncontent-type: ${problemMediaType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(config.port, config.host, resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : config.port,
    close: () =>
      new Promise((resolve, reject) => {
        // A connection that is kept alive becomes idle only when its last answer is out.
        const sweep = setInterval(() => server.closeIdleConnections(), sweepMs)
        server.close((error) => {
          clearInterval(sweep)
          if (error) reject(error)
          else resolve()
        })
      }),
  }
}
