import { createServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import type { ReceivedRequest } from './receiver.ts'

/** What a receiver has seen, under one label or all. */
export interface RequestLog {
  count(label: string | null): number
  /** In the order of arrival. */
  read(label: string | null): readonly ReceivedRequest[]
  forget(label: string | null): void
}

/** The port for the test: it reads the log, forgets it, counts it. */
export const createControl = (log: RequestLog): Server =>
  createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://control')
    const label = url.searchParams.get('label')
    response.setHeader('content-type', 'application/json')
    if (request.method === 'DELETE') {
      log.forget(label)
      response.end('{}')
    } else if (url.pathname === '/count') response.end(JSON.stringify({ count: log.count(label) }))
    else response.end(JSON.stringify(log.read(label)))
  })

/** Listens on a free port of the loopback address, which it returns. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1_024, resolve))
  return (server.address() as AddressInfo).port
}
