import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '@meridian/core/kernel/log'
import { createTestDb, type TestDb } from '@meridian/core/testing/test-db'
import { readConfig } from '../src/config.ts'
import { listen } from '../src/server.ts'
import { createServices, type RunningServices } from '../src/services.ts'

export interface BootedApi {
  url: string
  db: TestDb
  services: RunningServices
  /** The lines of the log, parsed. */
  log: Record<string, unknown>[]
  close(): Promise<void>
}

/** The real API on a free port, over a database of its own. */
export async function bootApi(
  postgresUrl: string,
  redisUrl: string,
  environment: Record<string, string> = {},
): Promise<BootedApi> {
  const db = await createTestDb(postgresUrl)
  const folder = await mkdtemp(join(tmpdir(), 'meridian-api-'))
  const keyFile = join(folder, 'key')
  await writeFile(keyFile, randomBytes(32).toString('base64'))
  const log: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) }
  const config = readConfig({
    PORT: '0',
    API_URL: 'http://api.test',
    DATABASE_URL: db.appUrl,
    REDIS_URL: redisUrl,
    KEY_FILE: keyFile,
    ALLOW_PRIVATE_TARGETS: 'true',
    ...environment,
  })
  const services = await createServices(config, createLog({ service: 'api', level: config.logLevel, destination }))
  const server = await listen(services)
  return {
    url: `http://127.0.0.1:${server.port}`,
    db,
    services,
    log,
    close: async () => {
      services.beginStop()
      await server.close()
      await services.close()
      await db.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
