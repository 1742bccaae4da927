import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import setupPostgres from '@meridian/core/testing/global-setup'

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

async function startRedis(): Promise<{ url: string; stop: () => void }> {
  const given = process.env['TEST_REDIS_URL']
  if (given !== undefined && given !== '') return { url: given, stop: () => undefined }
  const port = await freePort()
  const server: ChildProcess = spawn(
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.stdout?.on('data', (chunk: Buffer) => {
      if (chunk.includes('Ready to accept connections')) resolve()
    })
  })
  return { url: `redis://127.0.0.1:${port}`, stop: () => server.kill() }
}

/** One Postgres and one Redis a test run, provided as `postgresUrl` and `redisUrl`. */
export default async function setup(project: {
  provide(key: 'postgresUrl' | 'redisUrl', value: string): void
}): Promise<() => Promise<void>> {
  const [stopPostgres, redis] = await Promise.all([setupPostgres(project), startRedis()])
  project.provide('redisUrl', redis.url)
  return async () => {
    redis.stop()
    await stopPostgres()
  }
}

declare module 'vitest' {
  export interface ProvidedContext {
    redisUrl: string
  }
}
