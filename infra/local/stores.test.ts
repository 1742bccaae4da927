import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '@meridian/core/db/migrate'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCommand } from './command.ts'
import { type Home, openHome, remove } from './home.ts'
import { findFreePort } from './ports.ts'
import { postgresUrls, preparePostgres, removePostgres } from './postgres.ts'
import { recordedProcesses } from './process-record.ts'
import { converses, Processes } from './processes.ts'
import { findRedisServer, prepareRedis } from './redis.ts'
import { keepKeyFile, keepSecrets } from './secrets.ts'

const homes: Home[] = []
let processes: Processes
let home: Home

const newHome = (mode: number): Home => {
  const folder = mkdtempSync(join(tmpdir(), 'meridian-stores-'))
  chmodSync(folder, mode)
  const made = openHome(folder)
  homes.push(made)
  return made
}

beforeEach(() => {
  home = newHome(0o755)
  processes = new Processes(home)
})
afterEach(() => processes.stop())
afterAll(() => {
  for (const made of homes) {
    removePostgres(made)
    remove(made.path)
  }
})

const settings = { shared_buffers: '32MB', max_wal_size: '64MB' }

async function startPostgres(): Promise<ReturnType<typeof postgresUrls>> {
  const port = await findFreePort()
  const secrets = keepSecrets(home).postgres
  await processes.start(await preparePostgres({ home, port, secrets, settings }))
  return postgresUrls(port, secrets)
}

test('a fresh Postgres takes the migrations, and its data is there after a restart', async () => {
  const urls = await startPostgres()
  expect((await migrate(urls.owner)).applied.length).toBeGreaterThan(0)
  await processes.stop()
  processes = new Processes(home)
  const again = await startPostgres()
  expect((await migrate(again.owner)).applied).toEqual([])
}, 60_000)

test('Postgres comes back by itself after its main process was killed', async () => {
  const urls = await startPostgres()
  const pid = recordedProcesses(home)[0]?.pid ?? 0
  process.kill(pid, 'SIGKILL')
  await vi.waitFor(() => expect(recordedProcesses(home)[0]?.pid).not.toBe(pid), 10_000)
  await vi.waitFor(() => migrate(urls.owner), { timeout: 15_000, interval: 200 })
}, 60_000)

test.runIf(process.getuid?.() === 0)(
  'a home that the user postgres can not enter gets its data elsewhere',
  async () => {
    home = newHome(0o700)
    processes = new Processes(home)
    const urls = await startPostgres()
    expect(existsSync(join(home.path, 'postgres', 'PG_VERSION'))).toBe(false)
    await migrate(urls.owner)
    const directory = /-D\0([^\0]+)/.exec(commandLine())?.[1] ?? ''
    expect(directory).toMatch(/^\/var\/lib\/meridian\//)
    await processes.stop()
    removePostgres(home)
    expect(existsSync(directory)).toBe(false)
  },
  60_000,
)

const commandLine = (): string => readFileSync(`/proc/${recordedProcesses(home)[0]?.pid}/cmdline`, 'utf8')

test.runIf(process.getuid?.() === 0)(
  'an ordinary user runs Postgres as himself',
  async () => {
    const nobody = { uid: 65_534, gid: 65_534 }
    await runCommand('chown', [`${nobody.uid}:${nobody.gid}`, home.path])
    const program = `
    import { openHome } from '${import.meta.dirname}/home.ts'
    import { Processes } from '${import.meta.dirname}/processes.ts'
    import { preparePostgres } from '${import.meta.dirname}/postgres.ts'
    import { keepSecrets } from '${import.meta.dirname}/secrets.ts'
    const home = openHome('${home.path}')
    const processes = new Processes(home)
    const secrets = keepSecrets(home).postgres
    await processes.start(await preparePostgres({ home, port: ${await findFreePort()}, secrets, settings: { shared_buffers: '32MB' } }))
    await processes.stop()
    console.log('ran as', process.getuid())`
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], { ...nobody, cwd: '/' })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    await new Promise((resolve) => child.once('close', resolve))
    expect(output).toContain('ran as 65534')
    expect(statSync(join(home.path, 'postgres')).uid).toBe(nobody.uid)
  },
  60_000,
)

test('the private Redis listens on the loopback address alone, keeps nothing and never evicts', async () => {
  const port = await findFreePort()
  await processes.start(prepareRedis(home, port, await findRedisServer()))
  for (const [name, value] of [
    ['bind', '127.0.0.1'],
    ['save', ''],
    ['appendonly', 'no'],
    ['maxmemory-policy', 'noeviction'],
  ] as const) {
    const reply = `*2\r\n$${name.length}\r\n${name}\r\n$${value.length}\r\n${value}\r\n`
    expect(await converses(port, `CONFIG GET ${name}\r\n`, reply), name).toBe(true)
  }
})

test('secrets are made once and are readable for their owner alone', () => {
  const secrets = keepSecrets(home)
  expect(keepSecrets(home)).toEqual(secrets)
  expect(secrets.apiKey).toMatch(/^mk_[\w-]{43}$/)
  expect(statSync(home.file('secrets.json')).mode & 0o777).toBe(0o600)
  const keyFile = keepKeyFile(home)
  expect(Buffer.from(readFileSync(keyFile, 'utf8'), 'base64')).toHaveLength(32)
  expect(statSync(keyFile).mode & 0o777).toBe(0o600)
})
