import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Misuse, readArguments } from './arguments.ts'
import { type Claim, ownClaim } from './claim.ts'
import { findProgram, runCommand } from './command.ts'
import { type Home, openHome, readJson, remove, writeJson } from './home.ts'
import { keepPorts } from './ports.ts'
import { postgresUrls, preparePostgres, removePostgres } from './postgres.ts'
import { birthOf, isAlive, recordProcess } from './process-record.ts'
import { Processes } from './processes.ts'
import { Refusal, say, seconds, step } from './progress.ts'
import { findRedisServer, prepareRedis } from './redis.ts'
import { keepSecrets } from './secrets.ts'
import type { Failure, SuiteReport } from './suite-report.ts'
import { type Suite, type SuiteContext, suites } from './suites.ts'
import { stopStack } from './supervisor.ts'
import { installPackage } from './system-package.ts'

/**
 * `./meridian test [suite]...`: makes what the tests need, in a folder of its own that `up` knows nothing of, runs
 * every suite to its end, and says `N passed, N failed` in its last line.
 */
export async function test(args: readonly string[]): Promise<number> {
  const { positionals } = readArguments(args, {}, { allowPositionals: true })
  const known = suites.map(({ name }) => name)
  const strange = positionals.filter((name) => !known.includes(name))
  if (strange.length > 0) throw new Misuse(`There is no suite ${strange.join(', ')}; there are ${known.join(', ')}.`)
  const chosen = suites.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  await cleanUp()
  const run = new TestRun()
  const interrupt = (): void => void run.stop().finally(() => process.exit(130))
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt)
  try {
    return await runSuites(chosen, await run.start())
  } finally {
    await run.stop()
  }
}

async function runSuites(chosen: readonly Suite[], context: SuiteContext): Promise<number> {
  let passed = 0
  const failures: Failure[] = []
  for (const suite of chosen) {
    const startedAt = performance.now()
    say(`\n${suite.name} ...`)
    const report = await runSuite(suite, context)
    say(
      `${suite.name}: ${report.passed} passed, ${report.failures.length} failed, ${report.skipped} skipped (${seconds(startedAt)})`,
    )
    for (const failure of report.failures) tell('FAILED', failure)
    for (const failure of report.unsteady ?? []) tell('PASSED AT A SECOND TRY', failure)
    passed += report.passed
    failures.push(...report.failures.map(({ name, message }) => ({ name: `${suite.name}: ${name}`, message })))
  }
  if (failures.length > 0) say(`\nFailed:\n${failures.map(({ name }) => `  ${name}`).join('\n')}`)
  process.stdout.write(`${passed} passed, ${failures.length} failed\n`)
  return failures.length === 0 ? 0 : 1
}

async function runSuite(suite: Suite, context: SuiteContext): Promise<SuiteReport> {
  try {
    const report = await suite.run(context)
    if (report.passed + report.failures.length > 0) return report
    return { ...report, failures: [{ name: suite.name, message: 'it ran no test' }] }
  } catch (error) {
    const message = error instanceof Refusal ? error.message : String((error as Error).stack)
    return { passed: 0, skipped: 0, failures: [{ name: suite.name, message }] }
  }
}

const longestMessage = 4_000

const tell = (verdict: string, { name, message }: Failure): void =>
  say(`  ${verdict} ${name}\n${message.slice(0, longestMessage).replace(/^/gm, '    ')}`)

/** The services of one run, in a home of its own below `test`. */
class TestRun {
  readonly #home: Home
  readonly #processes: Processes
  readonly #productHome: Home
  #product: Promise<Record<string, string>> | undefined

  constructor() {
    this.#home = openHome(openHome().file('test', String(process.pid)))
    writeJson(this.#home.file('owner.json'), ownClaim())
    this.#productHome = openHome(this.#home.file('product'))
    this.#processes = new Processes(this.#home)
  }

  async start(): Promise<SuiteContext> {
    const ports = await keepPorts(this.#home)
    const secrets = keepSecrets(this.#home)
    await Promise.all([
      step('Postgres for tests', async () => {
        // The tests kill servers, not machines: what the system has been given survives without fsync.
        const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '400' }
        const options = { home: this.#home, port: ports.postgres, secrets: secrets.postgres, settings }
        return this.#processes.start(await preparePostgres(options))
      }),
      step('Redis for tests', async () =>
        this.#processes.start(prepareRedis(this.#home, ports.redis, await findRedisServer())),
      ),
    ])
    return {
      file: (...parts) => this.#home.file(...parts),
      services: {
        TEST_POSTGRES_URL: postgresUrls(ports.postgres, secrets.postgres).superuser,
        TEST_REDIS_URL: `redis://127.0.0.1:${ports.redis}`,
        // What tests make and leave is found here, and ended with the run.
        TMPDIR: this.#home.folder('tmp'),
      },
      product: () => (this.#product ??= this.#startProduct()),
      onStart: (name, pid) => {
        const record = { name: `suite-${name}`, pid, birth: birthOf(pid) ?? '' }
        recordProcess(this.#home, { ...record, stopSignal: 'SIGTERM', isStore: false })
      },
      chromium: findChromium,
    }
  }

  async #startProduct(): Promise<Record<string, string>> {
    const environment = { MERIDIAN_HOME: this.#productHome.path }
    const main = new URL('./main.ts', import.meta.url).pathname
    const result = await step('the product for tests', () =>
      runCommand(process.execPath, [main, 'up', '--detach'], { env: environment }),
    )
    if (!result.ok) throw new Refusal(`the product does not start:\n${result.output}`)
    return environment
  }

  /** Ends everything. The folder stays until the next run: its logs may be wanted. */
  async stop(): Promise<void> {
    await stopStacks(this.#home)
    await this.#processes.stop()
    removePostgres(this.#home)
  }
}

/** Ends and removes what earlier runs have left, also one that was killed. */
async function cleanUp(): Promise<void> {
  const folder = openHome().folder('test')
  for (const name of readdirSync(folder)) {
    const home = openHome(join(folder, name))
    const owner = readJson<Claim>(home.file('owner.json'))
    if (owner && isAlive(owner)) continue
    await stopStacks(home)
    await stopStack(home)
    removePostgres(home)
    remove(home.path)
  }
}

/** Ends the stacks that a run or its tests started, and removes their data. */
async function stopStacks(run: Home): Promise<void> {
  const made = [run.folder('product'), ...readdirSync(run.folder('tmp')).map((name) => run.file('tmp', name))]
  for (const path of made.filter((folder) => existsSync(join(folder, 'pids')))) {
    const home = openHome(path)
    await stopStack(home)
    removePostgres(home)
  }
}

async function findChromium(): Promise<string> {
  const find = (): string | undefined =>
    process.env.CHROMIUM || findProgram('chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome')
  const found = find()
  if (found !== undefined) return found
  if (process.getuid?.() === 0 && findProgram('apt-get'))
    await step('installing Chromium', () => installPackage('chromium'))
  const installed = find()
  if (installed === undefined) throw new Refusal('there is no Chromium: install it, or set CHROMIUM to its path')
  return installed
}
