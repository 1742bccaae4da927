import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { bootstrapTenant } from '@meridian/core/access/bootstrap'
import { migrate } from '@meridian/core/db/migrate'
import { readArguments } from './arguments.ts'
import { buildConsole } from './build.ts'
import { type Home, openHome } from './home.ts'
import { keepPorts } from './ports.ts'
import { preparePostgres } from './postgres.ts'
import { sweep } from './process-record.ts'
import { Processes } from './processes.ts'
import {
  apiProgram,
  consoleProgram,
  demoTargetProgram,
  engineProgram,
  executorProgram,
  identityProgram,
  mailProgram,
  objectsProgram,
  watchdogProgram,
} from './programs.ts'
import { Refusal, say, seconds, step } from './progress.ts'
import { findRedisServer, prepareRedis } from './redis.ts'
import { keepSecrets } from './secrets.ts'
import { seedJobs, tenantPlan } from './seed.ts'
import { planStack, type Stack } from './stack.ts'
import { describe, readStatus } from './status.ts'
import { becomeSupervisor, findSupervisor, resignSupervisor, tellSupervisor } from './supervisor.ts'

/** `./meridian up [--detach]`: runs the whole product until Ctrl-C or `down`; detached, returns when it is ready. */
export async function up(args: readonly string[]): Promise<number> {
  const { values } = readArguments(args, { detach: { type: 'boolean', default: false } })
  const home = openHome()
  if (values.detach) return detach(home)
  const other = becomeSupervisor(home)
  if (other) return joinRunning(home)
  const startedAt = performance.now()
  const processes = new Processes(home)
  const stop = stopOnSignal(home, processes)
  try {
    for (const name of await sweep(home)) say(`  ended ${name}, which an earlier run had left`)
    const stack = planStack(home, await keepPorts(home), keepSecrets(home))
    const state = { urls: stack.urls, hasSeededPeople: stack.runs.identity }
    tellSupervisor(home, { ...state, ready: false })
    await startStack(stack, processes)
    process.stdout.write(describe({ ...(await readStatus(home)), ready: true }))
    say(`Ready in ${seconds(startedAt)}. Ctrl-C or ./meridian down stops everything.`)
    // Told last: a detached start shows what was printed until then, and returns.
    tellSupervisor(home, { ...state, ready: true })
  } catch (error) {
    await stop(1, error)
  }
  return new Promise(() => {})
}

async function startStack(stack: Stack, processes: Processes): Promise<void> {
  const start = (name: string, prepare: () => Promise<Parameters<Processes['start']>[0]>): Promise<void> =>
    step(name, async () => processes.start(await prepare()))
  const database = async (): Promise<{ tenantId: string }> => {
    const { home, ports, secrets } = stack
    const settings = postgresSettings()
    if (stack.runs.postgres) {
      await start('Postgres', () =>
        preparePostgres({ home, port: ports.postgres, secrets: secrets.postgres, settings }),
      )
    }
    await step('migrations', () => migrate(stack.ownerDatabaseUrl).catch(refuseMigration))
    return step('the demo tenant', () => bootstrapTenant(stack.ownerDatabaseUrl, tenantPlan(stack)))
  }
  const redis = async (): Promise<void> => {
    if (!stack.runs.redis) return
    await start('Redis', async () => prepareRedis(stack.home, stack.ports.redis, await findRedisServer()))
  }
  const helpers = [
    ...(stack.runs.identity ? [identityProgram(stack)] : []),
    ...(stack.runs.mail ? [mailProgram(stack)] : []),
    ...(stack.runs.objects ? [objectsProgram(stack)] : []),
    demoTargetProgram(stack),
  ].map((program) => start(program.name, async () => program))
  const stores = Promise.all([database(), redis(), ...helpers])
  const engine = stores.then(async ([{ tenantId }]) => {
    await Promise.all([
      start('api', async () => apiProgram(stack)),
      start('engine', async () => engineProgram(stack)),
      start('executor', async () => executorProgram(stack)),
      start('watchdog', async () => watchdogProgram(stack)),
    ])
    await step('the demo jobs', () => seedJobs(stack, tenantId))
  })
  const console = buildConsole().then((built) => start('console', async () => consoleProgram(stack, built)))
  await Promise.all([engine, console])
}

function refuseMigration(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  throw new Refusal(`${message}\nIf the local data may go, ./meridian reset and begin anew.`)
}

/** `MERIDIAN_POSTGRES_SETTINGS=name=value,name=value` changes the settings of the embedded Postgres. */
function postgresSettings(): Record<string, string> {
  const pairs = (process.env.MERIDIAN_POSTGRES_SETTINGS ?? '').split(',').filter(Boolean)
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name, value] = pair.split('=')
      if (!name || !value) throw new Refusal(`MERIDIAN_POSTGRES_SETTINGS: "${pair}" is not name=value`)
      return [name, value]
    }),
  )
}

/** The first signal stops everything in order, a second one at once. Returns what a failed start calls. */
function stopOnSignal(home: Home, processes: Processes): (code: number, error?: unknown) => Promise<never> {
  let isStopping = false
  const stop = async (code: number, error?: unknown): Promise<never> => {
    // A start that fails because it is being stopped is no failure: whoever stops it ends the process.
    if (isStopping) return new Promise(() => {})
    isStopping = true
    if (error !== undefined)
      say(error instanceof Refusal ? `\n${error.message}` : `\n${String((error as Error).stack)}`)
    await processes.stop()
    resignSupervisor(home)
    process.exit(code)
  }
  const onSignal = (): void => {
    if (isStopping) {
      void sweep(home, 0).then(() => process.exit(1))
      return
    }
    say('\nStopping ...')
    void stop(0)
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal)
  return stop
}

async function joinRunning(home: Home): Promise<number> {
  const current = await readStatus(home)
  if (current.ready) process.stdout.write(describe(current))
  say(current.ready ? 'It runs already; ./meridian down stops it.' : 'Another ./meridian up is still starting it.')
  return current.ready ? 0 : 1
}

const logPollMs = 100

/** Starts `up` in a session of its own, shows its progress until it is ready, and leaves it running. */
async function detach(home: Home): Promise<number> {
  if (findSupervisor(home)) return joinRunning(home)
  const log = home.file('logs', 'up.log')
  const output = openSync(log, 'w')
  const main = new URL('./main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [main, 'up'], { detached: true, stdio: ['ignore', output, output] })
  child.unref()
  let shown = 0
  for (;;) {
    const isReady = findSupervisor(home)?.ready === true
    const hasEnded = child.exitCode !== null || child.signalCode !== null
    const text = readFileSync(log)
    process.stderr.write(text.subarray(shown))
    shown = text.length
    if (isReady) return 0
    if (hasEnded) return 1
    await sleep(logPollMs)
  }
}
