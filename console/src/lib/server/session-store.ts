import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'

const sessionFile = /^[0-9a-f]{64}(\.\d+\.new)?$/

/** Keeps opaque text under a key until it expires. Values are sealed before they come here. */
export interface SessionStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, expiresAt: Date): Promise<void>
  delete(key: string): Promise<void>
}

/** Sessions in Redis, shared by every replica. */
export function redisStore(redisUrl: string, onError: (error: Error) => void): SessionStore {
  const redis = new Redis(redisUrl, { lazyConnect: true, maxRetriesPerRequest: 1, connectTimeout: 2_000 })
  redis.on('error', onError)
  const name = (key: string) => `meridian:console:session:${key}`
  return {
    get: async (key) => (await redis.get(name(key))) ?? undefined,
    set: async (key, value, expiresAt) => {
      await redis.set(name(key), value, 'PXAT', expiresAt.getTime())
    },
    delete: async (key) => {
      await redis.del(name(key))
    },
  }
}

/** Sessions as files of one folder, for a single console without Redis. Keys are hex, so they are safe names. */
export function fileStore(folder: string): SessionStore {
  const path = (key: string) => join(folder, key)
  const ready = prepare(folder)

  return {
    async get(key) {
      await ready
      const entry = await readEntry(path(key))
      if (!entry) return undefined
      if (entry.expiresAt > Date.now()) return entry.value
      await rm(path(key), { force: true })
      return undefined
    },
    async set(key, value, expiresAt) {
      await ready
      const temporary = `${path(key)}.${process.pid}.new`
      await writeFile(temporary, `${expiresAt.getTime()}\n${value}`, { mode: 0o600 })
      await rename(temporary, path(key))
    },
    async delete(key) {
      await ready
      await rm(path(key), { force: true })
    },
  }
}

async function prepare(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o700)
  for (const name of await readdir(folder)) {
    if (!sessionFile.test(name)) continue
    const entry = await readEntry(join(folder, name))
    if (!entry || entry.expiresAt <= Date.now()) await rm(join(folder, name), { force: true })
  }
}

async function readEntry(path: string): Promise<{ expiresAt: number; value: string } | undefined> {
  const content = await readFile(path, 'utf8').catch(() => undefined)
  const newline = content?.indexOf('\n') ?? -1
  if (content === undefined || newline < 0) return undefined
  return { expiresAt: Number(content.slice(0, newline)), value: content.slice(newline + 1) }
}
