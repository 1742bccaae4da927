import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { buildSdk } from './build.ts'
import { root } from './home.ts'
import { findRedisServer } from './redis.ts'

/** `./meridian e2e <ID>... [--profile ci|bench]`: the named fault and attack tests. */
export const e2e = (args: readonly string[]): Promise<number> => runProgram('e2e/faults/run.ts', args)

/** `./meridian chaos [--profile ci|bench]`: all of them. */
export const chaos = (args: readonly string[]): Promise<number> => runProgram('e2e/faults/run.ts', ['all', ...args])

/** `./meridian bench <name>... [--json] [--rounds N]`. */
export const bench = (args: readonly string[]): Promise<number> => runProgram('e2e/bench/run.ts', args)

/** Hands over to a program of e2e with this terminal; its code is ours. */
async function runProgram(file: string, args: readonly string[]): Promise<number> {
  await buildSdk()
  if (!process.env.REDIS_URL) await findRedisServer()
  const child = spawn(process.execPath, [join(root, file), ...args], { cwd: root, stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
