import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { readJson, root } from './home.ts'
import { say } from './progress.ts'
import { readPlaywrightReport, readSummary, readVitestReport, type SuiteReport } from './suite-report.ts'
import { runChecks } from './verify.ts'

/** What every suite gets: where to write, and the environment with its services. */
export interface SuiteContext {
  /** A path in the folder of this test run. */
  file: (...parts: string[]) => string
  /** The environment of the suites of one package: a Postgres and a Redis to make databases in. */
  services: Record<string, string>
  /** Starts the whole product, the first time it is asked for, and returns the environment that leads to it. */
  product: () => Promise<Record<string, string>>
  /** Is told of every process a suite starts, so that the next run can end it if this one is killed. */
  onStart: (name: string, pid: number) => void
  /** The path of a Chromium, installed if need be. */
  chromium: () => Promise<string>
}

export interface Suite {
  name: string
  run: (context: SuiteContext) => Promise<SuiteReport>
}

const longestMs = 20 * 60_000
const leastCoreCoverage = 95

const failed = (name: string, message: string): SuiteReport => ({
  passed: 0,
  skipped: 0,
  failures: [{ name, message }],
})

const verifySuite: Suite = {
  name: 'verify',
  run: async () => {
    const results = await runChecks()
    return {
      passed: results.filter(({ problem }) => problem === undefined).length,
      skipped: 0,
      failures: results.flatMap(({ name, problem }) => (problem === undefined ? [] : [{ name, message: problem }])),
    }
  },
}

interface VitestSuite {
  folder: string
  needsProduct?: boolean
  hasCoverage?: boolean
}

/** All tests that vitest finds in a package. */
const vitestSuite = ({ folder, needsProduct = false, hasCoverage = false }: VitestSuite): Suite => ({
  name: folder,
  run: async (context) => {
    if (globSync('**/*.test.ts', { cwd: join(root, folder), exclude: ['**/node_modules/**'] }).length === 0) {
      return failed(folder, 'there are no tests')
    }
    const report = context.file(`${folder}.json`)
    const coverage = context.file(`${folder}-coverage`)
    const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    if (hasCoverage) {
      args.push('--coverage.enabled', '--coverage.reporter=json-summary', `--coverage.reportsDirectory=${coverage}`)
    }
    const environment = needsProduct ? await context.product() : {}
    const { ending, output } = await runTool(context, folder, join(root, folder, 'node_modules/.bin/vitest'), args, {
      ...context.services,
      ...environment,
    })
    const result = readVitestReport(report) ?? failed(folder, `vitest ended with ${ending}:\n${lastLines(output)}`)
    if (hasCoverage) addCoverage(result, join(coverage, 'coverage-summary.json'))
    // A thrown error that no test caught shows in the exit code alone.
    if (ending !== 'code 0' && result.failures.length === 0) {
      result.failures.push({ name: folder, message: `vitest ended with ${ending}:\n${lastLines(output)}` })
    }
    return result
  },
})

function addCoverage(result: SuiteReport, file: string): void {
  const lines = readJson<{ total: { lines: { pct: number } } }>(file)?.total.lines.pct ?? 0
  say(`  core is covered to ${lines} % by lines`)
  if (lines >= leastCoreCoverage) result.passed += 1
  else {
    const name = `core is covered to ${leastCoreCoverage} % by lines`
    result.failures.push({ name, message: `it is covered to ${lines} %` })
  }
}

const browserSuite: Suite = {
  name: 'browser',
  run: async (context) => {
    // Without its configuration Playwright would take the tests of vitest for its own.
    const config = join(root, 'e2e/playwright.config.ts')
    if (!existsSync(config)) return failed('browser', `there are no tests: ${config} is missing`)
    const report = context.file('browser.json')
    const playwright = join(root, 'e2e/node_modules/.bin/playwright')
    const { ending, output } = await runTool(
      context,
      'browser',
      playwright,
      ['test', '--reporter=line,json', `--output=${context.file('browser-results')}`],
      {
        ...context.services,
        ...(await context.product()),
        CHROMIUM: await context.chromium(),
        PLAYWRIGHT_JSON_OUTPUT_FILE: report,
      },
    )
    return readPlaywrightReport(report) ?? failed('browser', `playwright ended with ${ending}:\n${lastLines(output)}`)
  },
}

const faultsSuite: Suite = {
  name: 'faults',
  run: async (context) => {
    // The rows that tests of a package hold have been run with that package.
    const args = [join(root, 'e2e/faults/run.ts'), 'stack', '--profile', 'ci']
    const environment = { ...context.services, ...(await context.product()) }
    const { ending, stdout, output } = await runTool(context, 'faults', process.execPath, args, environment)
    return readSummary(stdout) ?? failed('faults', `they ended with ${ending}:\n${lastLines(output)}`)
  },
}

/** All suites, those first that tell soonest. */
export const suites: readonly Suite[] = [
  verifySuite,
  vitestSuite({ folder: 'core', hasCoverage: true }),
  vitestSuite({ folder: 'api' }),
  vitestSuite({ folder: 'workers' }),
  vitestSuite({ folder: 'sdk-ts' }),
  vitestSuite({ folder: 'infra' }),
  vitestSuite({ folder: 'console' }),
  vitestSuite({ folder: 'e2e', needsProduct: true }),
  browserSuite,
  faultsSuite,
]

/** Runs a test tool with its output in a log file of the run; one that hangs is ended. */
function runTool(
  context: SuiteContext,
  name: string,
  program: string,
  args: string[],
  env: Record<string, string>,
): ReturnType<typeof runCommand> {
  const folder = name === 'browser' || name === 'faults' ? 'e2e' : name
  const logFile = context.file('logs', `${name}.log`)
  const onStart = (pid: number): void => context.onStart(name, pid)
  return runCommand(program, args, { cwd: join(root, folder), env, logFile, onStart, timeoutMs: longestMs })
}

const lastLines = (output: string): string => output.trimEnd().split('\n').slice(-40).join('\n')
