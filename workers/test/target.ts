import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
  atMs: number
}

/** A target of one's own: answers as told, and tells what it received. */
export interface Target {
  url: string
  received: Received[]
  /** Resolves when so many requests have come in. */
  waitFor(count: number): Promise<void>
  close(): Promise<void>
}

export async function startTarget(
  answer: (request: Received, response: ServerResponse, count: number) => void,
): Promise<Target> {
  const received: Received[] = []
  let waiters: { count: number; resolve: () => void }[] = []
  const server: Server = createServer((request, response) => {
    const atMs = Date.now()
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString(), atMs }
      received.push(one)
      answer(one, response, received.length)
      waiters = waiters.filter(({ count, resolve }) => {
        if (received.length < count) return true
        resolve()
        return false
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    received,
    waitFor: (count) =>
      received.length >= count ? Promise.resolve() : new Promise((resolve) => waiters.push({ count, resolve })),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
