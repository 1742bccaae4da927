import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { endChild, freePort, pidOf } from './program.ts'
import { waitFor } from './wait.ts'

/** The whole product, running for a test: `./meridian up` in a home of its own. */
export interface Stack {
  readonly home: string
  readonly urls: Record<string, string>
  readonly apiKey: string
  readonly tenant: string
  readonly project: string
  /** What sees every tenant's rows; `database` is created when it is not there. */
  databaseUrl(database?: string): string
  readonly redisUrl: string
  /** The pid of the running process of this name, or nothing: `api`, `engine`, `executor`, `postgres`, `redis`, ... */
  pids(name: string): number[]
  /** The environment of a running process of this stack. */
  environment(name: string): Record<string, string>
  /** Starts one more process of the kind `name`, with its environment changed by `change`. */
  startExtra(name: 'api' | 'engine' | 'executor', change?: Record<string, string>): Promise<ExtraProcess>
  /** Ends everything, and the home with it if it was made for this stack. */
  stop(): Promise<void>
}

/** A process beside those that `up` keeps alive. Nobody starts it again when it dies. */
export interface ExtraProcess {
  readonly pid: number
  readonly port: number
  stop(): Promise<void>
}

interface Status {
  ready: boolean
  urls: Record<string, string>
  apiKey: string
  tenant: string
  project: string
}

const root = resolve(import.meta.dirname, '..')

/**
 * Starts the product in a temporary home on free ports and returns when it is ready. With `MERIDIAN_HOME` set, the
 * stack that already runs there is used instead, and left running.
 */
export async function startStack(settings: Record<string, string> = {}): Promise<Stack> {
  const given = process.env.MERIDIAN_HOME
  if (given !== undefined && given !== '') return describeStack(resolve(root, given), () => Promise.resolve())
  const home = mkdtempSync(join(tmpdir(), 'meridian-e2e-'))
  // Postgres runs as a user of its own when we are root, and must be able to enter.
  chmodSync(home, 0o755)
  const meridian = (...args: string[]) => runMeridian(args, { ...settings, MERIDIAN_HOME: home })
  const stop = async () => {
    await meridian('down')
    await meridian('reset')
    rmSync(home, { recursive: true, force: true })
  }
  try {
    await meridian('up', '--detach')
    return await describeStack(home, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function describeStack(home: string, stop: () => Promise<void>): Promise<Stack> {
  const status = JSON.parse(await runMeridian(['status', '--json'], { MERIDIAN_HOME: home })) as Status
  if (!status.ready) throw new Error(`the stack in ${home} is not ready`)
  const ports = readJson<Record<string, number>>(join(home, 'ports.json'))
  const secrets = readJson<{ postgres: { superuser: string } }>(join(home, 'secrets.json'))
  const extras: ExtraProcess[] = []

  const environment = (name: string): Record<string, string> => {
    const [pid] = runningPids(home, name)
    if (pid === undefined) throw new Error(`no process ${name} is running`)
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
    return Object.fromEntries(
      variables.map((variable) => {
        const split = variable.indexOf('=')
        return [variable.slice(0, split), variable.slice(split + 1)]
      }),
    )
  }
  return {
    home,
    urls: status.urls,
    apiKey: status.apiKey,
    tenant: status.tenant,
    project: status.project,
    databaseUrl: (database = 'meridian') =>
      `postgres://postgres:${secrets.postgres.superuser}@127.0.0.1:${ports.postgres}/${database}`,
    redisUrl: `redis://127.0.0.1:${ports.redis}`,
    pids: (name) => runningPids(home, name),
    environment,
    startExtra: async (name, change = {}) => {
      const [pid] = runningPids(home, name)
      const extra = await startLike(pid, environment(name), change)
      extras.push(extra)
      return extra
    },
    stop: async () => {
      await Promise.all(extras.map((extra) => extra.stop()))
      await stop()
    },
  }
}

/** Starts a second process with the command line of a running one; only its port is its own. */
async function startLike(
  pid: number | undefined,
  environment: Record<string, string>,
  change: Record<string, string>,
): Promise<ExtraProcess> {
  const [command, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)
  if (command === undefined) throw new Error(`process ${pid} has no command line`)
  const port = await freePort()
  const child: ChildProcess = spawn(command, args, {
    cwd: root,
    env: { ...environment, PORT: String(port), METRICS_PORT: String(port), ...change },
    stdio: 'ignore',
  })
  await waitFor('the extra process', async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).ok, {
    timeoutMs: 120_000,
  })
  return { pid: pidOf(child), port, stop: () => endChild(child) }
}

function runningPids(home: string, name: string): number[] {
  const file = join(home, 'pids', `${name}.json`)
  if (!existsSync(file)) return []
  const { pid } = readJson<{ pid: number }>(file)
  return existsSync(`/proc/${pid}`) ? [pid] : []
}

/** Runs `./meridian` to its end and returns what it printed; throws with its output when it fails. */
async function runMeridian(args: readonly string[], env: Record<string, string>): Promise<string> {
  const child = spawn(join(root, 'meridian'), args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: Buffer[] = []
  const complaints: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk))
  // Not `close`: a detached stack may keep the pipes open.
  const code = await new Promise((done) => child.once('exit', done))
  if (code === 0) return Buffer.concat(output).toString()
  throw new Error(`./meridian ${args.join(' ')} ended with ${String(code)}:\n${Buffer.concat(complaints).toString()}`)
}

function readJson<Content>(file: string): Content {
  return JSON.parse(readFileSync(file, 'utf8')) as Content
}
