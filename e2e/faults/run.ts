/**
 * `node e2e/faults/run.ts <ID>... [--profile ci|bench]`, `all` for every row, `stack` for those that need the whole product.
 *
 * Runs the named fault and attack tests, one after the other on one running stack. The last line is
 * `N passed, N failed`; exits non-zero when a row failed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { readArguments, refuse, type Usage } from '../arguments.ts'
import { type FaultProfile, faultProfiles } from './row.ts'
import { type PackageRow, packageRows, rows } from './rows.ts'
import { World } from './world.ts'

const root = join(import.meta.dirname, '../..')
const known = [...Object.keys(rows), ...Object.keys(packageRows)]

const usage: Usage = {
  name: 'e2e',
  text: `usage: ./meridian e2e <ID>... [--profile ci|bench]
       ./meridian chaos [--profile ci|bench]

  Runs named fault and attack tests, chaos all of them; \`stack\` names those that need the whole product.
  There are ${known.join(', ')}

  --profile ci|bench  how hard the faults hit: ci, the default, fits many into minutes`,
}

const { values, positionals } = readArguments(usage, { profile: { type: 'string', default: 'ci' } })
const profile = faultProfiles[values.profile as FaultProfile['name']]
if (profile === undefined) refuse(usage, `There is no profile ${values.profile}.`)
const groups: Record<string, readonly string[]> = { all: known, stack: Object.keys(rows) }
const ids = positionals.length === 0 ? known : positionals.flatMap((id) => groups[id] ?? [id])
const strange = ids.filter((id) => !known.includes(id))
if (strange.length > 0) refuse(usage, `There is no test ${strange.join(', ')}.`)

let world: World | undefined
let passed = 0
let failed = 0

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void Promise.resolve(world?.close()).then(() => process.exit(130)))
}

async function runRow(id: string): Promise<void> {
  const inPackage = packageRows[id]
  if (inPackage !== undefined) return runVitest(inPackage)
  world ??= await World.open(profile)
  await world.untilReady()
  await rows[id]?.run(world)
}

async function runVitest({ folder, files, benchEnvironment = {} }: PackageRow): Promise<void> {
  const isBench = profile?.name === 'bench'
  const args = ['run', ...files, ...(isBench ? ['--testTimeout=0'] : [])]
  const child = spawn(join(root, folder, 'node_modules/.bin/vitest'), args, {
    cwd: join(root, folder),
    env: { ...process.env, ...(isBench ? benchEnvironment : {}) },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`vitest ended with ${String(code)}`)
}

try {
  for (const id of ids) {
    const start = performance.now()
    const title = (rows[id] ?? packageRows[id])?.title ?? ''
    const seconds = () => `${((performance.now() - start) / 1_000).toFixed(1)} s`
    try {
      await runRow(id)
      passed += 1
      console.log(`ok    ${id}  ${title} (${seconds()})`)
    } catch (error) {
      failed += 1
      console.log(`FAIL  ${id}  ${title} (${seconds()})\n${error instanceof Error ? error.stack : String(error)}`)
    }
  }
} finally {
  await world?.close()
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
