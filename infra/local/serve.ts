import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'

/** Listens on this port of the loopback address, and stops by itself on SIGTERM and SIGINT. */
export async function serve(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const stop = (): void => {
    server.close(() => process.exit(0))
    server.closeAllConnections()
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  server.once('close', () => {
    process.off('SIGTERM', stop)
    process.off('SIGINT', stop)
  })
}

/** The whole body of a request; throws when it is longer than `maximum` bytes. */
export async function readBody(request: IncomingMessage, maximum = 10 * 1024 * 1024): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maximum) throw new RangeError(`the body is longer than ${maximum} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The fields of a submitted form. */
export const readForm = async (request: IncomingMessage): Promise<URLSearchParams> =>
  new URLSearchParams((await readBody(request, 64 * 1024)).toString('utf8'))
