import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { loadEnvFile } from 'node:process'
import { Misuse, readArguments } from './arguments.ts'
import { root } from './home.ts'
import { Refusal } from './progress.ts'

// Each command is loaded only when it is asked for: `status` must not wait for what `up` needs.
const commands: Record<string, (args: string[]) => Promise<number>> = {
  up: async (args) => (await import('./up.ts')).up(args),
  down: async (args) => takesNothing(args) ?? (await import('./down.ts')).down(),
  status: async (args) => (await import('./status.ts')).status(args),
  test: async (args) => (await import('./test.ts')).test(args),
  verify: async (args) => takesNothing(args) ?? (await import('./verify.ts')).verify(),
  e2e: async (args) => (await import('./e2e.ts')).e2e(args),
  chaos: async (args) => (await import('./e2e.ts')).chaos(args),
  bench: async (args) => (await import('./e2e.ts')).bench(args),
  gen: async (args) => takesNothing(args) ?? (await import('./gen.ts')).gen(),
  tenant: async (args) => (await import('./tenant.ts')).tenant(args),
  reset: async (args) => takesNothing(args) ?? (await import('./reset.ts')).reset(),
}

/** How each goes; those of e2e say so themselves. */
const usages: Record<string, string> = {
  up: 'usage: ./meridian up [--detach]',
  down: 'usage: ./meridian down',
  status: 'usage: ./meridian status [--json]',
  test: 'usage: ./meridian test [<suite>...]',
  verify: 'usage: ./meridian verify',
  gen: 'usage: ./meridian gen',
  reset: 'usage: ./meridian reset',
  tenant: 'usage: tenant <slug>... [--test-clock] [--waiting-max N]',
}

function takesNothing(args: string[]): undefined {
  readArguments(args, {})
}

const [name = '', ...args] = process.argv.slice(2)
const command = commands[name]
if (!command) {
  process.stderr.write(`meridian: unknown command: ${name}\n`)
  process.exit(2)
}
const usage = usages[name]
if (usage !== undefined && args.some((argument) => argument === '--help' || argument === '-h')) {
  process.stdout.write(`${usage}\n`)
  process.exit(0)
}
// `up` and `test` have things to stop first and say so themselves; the others just end.
if (name !== 'up' && name !== 'test') {
  process.on('SIGINT', () => process.exit(130))
  process.on('SIGTERM', () => process.exit(143))
}
enableCompileCache(join(root, 'node_modules/.cache/node'))
const settings = join(root, '.env')
if (existsSync(settings)) loadEnvFile(settings)
try {
  process.exitCode = await command(args)
} catch (error) {
  const isSaid = error instanceof Refusal || error instanceof Misuse
  process.stderr.write(`meridian: ${isSaid ? error.message : String((error as Error).stack)}\n`)
  if (error instanceof Misuse) process.stderr.write(`\n${usage}\n`)
  process.exitCode = error instanceof Misuse ? 2 : 1
}
