import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

const mib = 1024 * 1024

export const row: Row = {
  title: 'bodies that are too large, too deep, doubled or poisoned are refused, and cost no memory',
  async run(world) {
    const api = world.pid('api')
    const before = residentBytes(api)
    const target = '{"type":"http","url":"https://example.com/"}'
    const refused: [string, string, readonly number[]][] = [
      ['10 MB and a byte', `{"target":${target},"x":"${'x'.repeat(10 * mib)}"}`, [413]],
      ['10,000 levels of arrays', `{"target":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, [400]],
      ['10,000 levels of objects', `{"target":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`, [400]],
      ['a key twice', `{"target":${target},"queue":"a","queue":"b"}`, [400]],
      ['__proto__', `{"target":${target},"__proto__":{"isAdmin":true}}`, [400]],
      [
        '__proto__ deep inside',
        `{"target":{"type":"http","url":"https://example.com/","body":{"__proto__":{"x":1}}}}`,
        [400],
      ],
      ['a constructor', `{"target":${target},"constructor":{"prototype":{"isAdmin":true}}}`, [422]],
      ['half of a document', `{"target":${target}`, [400]],
      ['no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString('latin1'), [400]],
    ]
    for (let time = 0; time < world.profile.pick(2, 20); time += 1) {
      for (const [what, body, statuses] of refused) {
        const { status, headers } = await world.api.send('POST', '/v1/runs', body)
        ensure(statuses.includes(status), `${what} was answered ${status}`)
        ensure(String(headers['content-type']).startsWith('application/problem+json'), `${what}: no problem body`)
      }
      const status = await sendChunked(world, 12 * mib)
      ensure(status === 413, `12 MB in chunks without a length were answered ${status}`)
    }
    const healthy = await world.api.send('GET', '/v1/runs?limit=1')
    ensure(healthy.status === 200 && !('isAdmin' in healthy.body), 'the API is not well afterwards')
    ensure(world.pid('api') === api, 'the API exited')
    const grownBytes = residentBytes(api) - before
    ensure(grownBytes < 50 * mib, `the API grew by ${Math.round(grownBytes / mib)} MB`)
  },
}

/** Sends a body without a length, by hand: a client library would give up or look ahead. Returns the status. */
function sendChunked(world: World, bytes: number): Promise<number> {
  const { hostname, port } = new URL(world.api.origin)
  const socket = connect(Number(port), hostname)
  const chunk = Buffer.alloc(64 * 1024, 'x')
  socket.write(
    `POST /v1/runs HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${world.stack.apiKey}\r\n` +
      'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
  )
  let sent = 0
  const pump = () => {
    while (sent < bytes && socket.writable) {
      sent += chunk.length
      if (!socket.write(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]))) {
        socket.once('drain', pump)
        return
      }
    }
    if (socket.writable) socket.write('0\r\n\r\n')
  }
  pump()
  return new Promise((resolve) => {
    socket.once('data', (data) => {
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(String(data))?.[1]))
      socket.destroy()
    })
    socket.once('error', () => resolve(0))
    socket.once('close', () => resolve(0))
  })
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024
}
