import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'

export interface RedisServer {
  url: string
  /** Kills it; what it held is gone. */
  stop(): Promise<void>
  /** Starts it again, empty, where it was. */
  start(): Promise<void>
  /** Stops answering, with every connection open. */
  freeze(): void
  thaw(): void
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })

/** A Redis of one's own, as the product wants it: nothing on disk, nothing evicted. */
export async function startRedisServer(): Promise<RedisServer> {
  const port = await freePort()
  let server: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const started = spawn(
      'redis-server',
      [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        '--maxmemory-policy',
        'noeviction',
      ],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    )
    server = started
    await new Promise<void>((resolve, reject) => {
      started.once('error', reject)
      started.once('exit', () => reject(new Error('redis-server ended')))
      started.stdout.on('data', (chunk: Buffer) => {
        if (chunk.includes('Ready to accept connections')) resolve()
      })
    })
  }
  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
    stop: async () => {
      const stopping = server
      if (stopping === undefined || stopping.exitCode !== null) return
      server = undefined
      const gone = new Promise((resolve) => stopping.once('exit', resolve))
      stopping.kill('SIGKILL')
      await gone
    },
  }
}
