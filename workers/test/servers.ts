import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { uuidv7 } from '@meridian/core/kernel/ids'
import { onTestFinished } from 'vitest'
import { createOutbound, type Outbound, type OutboundOptions } from '../src/outbound.ts'
import type { HttpAttempt } from '../src/perform/http.ts'
import type { ResponseKeeping } from '../src/perform/response.ts'

export interface Listening {
  port: number
  /** Connections accepted so far, and how many of them are open. */
  connections: { total: number; open: number; most: number }
}

/** Listens until the test is over. */
export async function listen(server: Server, host = '127.0.0.1', port = 0): Promise<Listening> {
  const sockets = new Set<Socket>()
  const connections = { total: 0, open: 0, most: 0 }
  server.on('connection', (socket) => {
    sockets.add(socket)
    connections.total++
    connections.most = Math.max(connections.most, ++connections.open)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      connections.open--
      sockets.delete(socket)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, connections }
}

export const listenHttp = (listener: RequestListener, host?: string, port?: number): Promise<Listening> =>
  listen(createHttpServer(listener), host, port)

export const listenHttps = (
  tls: { key: string; cert: string },
  listener: RequestListener,
  host?: string,
): Promise<Listening> => listen(createHttpsServer(tls, listener), host)

/** A server that is no HTTP server: `onRequest` gets the socket once the first bytes of a request have come. */
export const listenRaw = (onRequest: (socket: Socket) => void, host?: string): Promise<Listening> =>
  listen(
    createTcpServer((socket) => {
      socket.once('data', () => onRequest(socket))
    }),
    host,
  )

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export const answer = (
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
  body = '',
): void => void response.writeHead(status, headers).end(body)

/** A door that closes when the test is over. */
export function openDoor(options: Partial<OutboundOptions> = {}): Outbound {
  const outbound = createOutbound({ allowPrivate: true, connectTimeoutMs: 2_000, ...options })
  onTestFinished(() => outbound.destroy())
  return outbound
}

export const keeping: ResponseKeeping = {
  inlineBytesMax: 65_536,
  keptBytesMax: 1_048_576,
  storeBody: null,
  onStoreError: () => undefined,
}

export const attemptOf = (url: string, more: Partial<HttpAttempt> = {}): HttpAttempt => ({
  tenantId: uuidv7(Date.now()),
  runId: uuidv7(Date.now()),
  attempt: 1,
  fence: 1,
  nominalAtMs: null,
  dueAtMs: Date.now(),
  method: 'POST',
  url,
  headers: {},
  body: Buffer.from('{}'),
  timeoutMs: 5_000,
  ...more,
})
