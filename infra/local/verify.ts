import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { buildSdk } from './build.ts'
import { findProgram, runCommand } from './command.ts'
import { root } from './home.ts'
import { Refusal, say, seconds } from './progress.ts'
import { brokenWalls } from './walls.ts'

/** What one check found: nothing, or what is wrong. */
export interface CheckResult {
  name: string
  problem: string | undefined
}

interface Check {
  name: string
  run: () => Promise<string | undefined>
}

/** `./meridian verify`: types, lint, walls, formatting, dead code. Needs no services. */
export async function verify(): Promise<number> {
  const startedAt = performance.now()
  const results = await runChecks()
  const failed = results.filter(({ problem }) => problem !== undefined).length
  say(`verified in ${seconds(startedAt)}`)
  process.stdout.write(`${results.length - failed} passed, ${failed} failed\n`)
  return failed === 0 ? 0 : 1
}

/** Runs every check, as many at once as there are cores, and tells each result as it comes. */
export async function runChecks(): Promise<CheckResult[]> {
  // The console and the end-to-end tests see the SDK as its users do: built.
  const problem = await buildSdk().then(
    () => undefined,
    (error: unknown) => (error instanceof Refusal ? error.message : String(error)),
  )
  const results: CheckResult[] = [{ name: 'build of the SDK', problem }]
  const waiting = [...checks]
  const work = async (): Promise<void> => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      const startedAt = performance.now()
      const result = { name: check.name, problem: await check.run() }
      say(`${result.problem === undefined ? 'ok    ' : 'FAILED'} ${check.name} (${seconds(startedAt)})`)
      if (result.problem !== undefined) say(result.problem.trimEnd())
      results.push(result)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return results
}

const bin = (name: string, folder = '.'): string => join(root, folder, 'node_modules/.bin', name)

/** A check that a command ends well. */
const command = (name: string, program: string, args: string[], folder = '.'): Check => ({
  name,
  run: async () => {
    const result = await runCommand(program, args, { cwd: join(root, folder) })
    return result.ok ? undefined : `${result.output}\n(${program} ended with ${result.ending})`
  },
})

const types = (folder: string): Check =>
  command(`types of ${folder}`, bin('tsc', folder), ['-p', '.', '--noEmit'], folder)

// The slowest first, so that the others fill the time beside it.
const checks: Check[] = [
  command('types of console', 'pnpm', ['run', 'check'], 'console'),
  { name: 'svelte-check finds planted errors', run: checkCanary },
  ...['api', 'core', 'workers', 'sdk-ts', 'infra', 'e2e'].map(types),
  command('knip', bin('knip'), []),
  command('oxlint', bin('oxlint'), ['--deny-warnings']),
  command('biome', bin('biome'), ['check', '--error-on-warnings', '--diagnostic-level=warn']),
  command('prettier', bin('prettier'), ['--check', '--log-level=warn', 'console/src/**/*.svelte']),
  { name: 'walls', run: async () => brokenWalls(root).join('\n') || undefined },
  ...(findProgram('shellcheck') ? [command('shellcheck', 'shellcheck', ['meridian', '.ci/run'])] : []),
]

const plantedErrors = 3

/**
 * svelte-check has passed over wrong properties of imported components without a word (with TypeScript 7). So it has
 * to find those planted in `console/canary`, each time, or its silence about the console means nothing.
 */
async function checkCanary(): Promise<string | undefined> {
  const folder = join(root, 'console')
  if (!existsSync(join(folder, 'canary'))) return 'console/canary is missing'
  const args = ['--workspace', 'canary', '--tsconfig', './tsconfig.json', '--output', 'machine']
  const { output } = await runCommand(bin('svelte-check', 'console'), args, { cwd: folder })
  const found = output.split('\n').filter((line) => / ERROR "/.test(line)).length
  return found === plantedErrors
    ? undefined
    : `svelte-check found ${found} of ${plantedErrors} planted errors:\n${output}`
}
