/** A target that answers 200 to everything and counts: `node e2e/noop-server.ts`. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

let count = 0
const server = createServer({ keepAliveTimeout: 300_000 }, (request, response) => {
  if (request.url === '/count') return void response.end(String(count))
  count += 1
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end('{"ok":true}')
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1_024, resolve))
process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`)
