import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand } from './command.ts'
import { readJson, remove, root, writeJson } from './home.ts'
import { birthOf, isAlive } from './process-record.ts'
import { Refusal, step } from './progress.ts'

interface Product {
  name: string
  folder: string
  /** What comes out; it is built again when it is missing. */
  output: string
  /** What goes in, as globs from the folder. */
  sources: string[]
}

const sdk: Product = {
  name: 'the SDK',
  folder: 'sdk-ts',
  output: 'dist/index.js',
  sources: ['src/**/*', 'package.json', 'tsconfig*.json'],
}

const console: Product = {
  name: 'the console',
  folder: 'console',
  output: 'build/index.js',
  sources: ['src/**/*', 'static/**/*', '*.ts', '*.json', '../sdk-ts/src/**/*'],
}

/** Builds the SDK, which the console and the end-to-end tests import, if its sources changed. */
export const buildSdk = (): Promise<void> => build(sdk)

/** Builds the console if its sources, or those of the SDK, changed. */
export async function buildConsole(): Promise<void> {
  await build(sdk)
  await build(console)
}

const cache = join(root, 'node_modules/.cache/meridian')

async function build(product: Product): Promise<void> {
  const stamp = join(cache, `${product.folder}.sources`)
  const isFresh = (): boolean =>
    existsSync(join(root, product.folder, product.output)) &&
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === digest(product)
  if (isFresh()) return
  await alone(product.folder, async () => {
    if (isFresh()) return
    const sources = digest(product)
    const result = await step(`building ${product.name}`, () =>
      runCommand('pnpm', ['run', 'build'], { cwd: join(root, product.folder) }),
    )
    if (!result.ok) throw new Refusal(`${product.name} does not build (${result.ending}):\n${result.output}`)
    mkdirSync(dirname(stamp), { recursive: true })
    writeFileSync(stamp, sources)
  })
}

/** Changes when any source is added, removed or touched. */
function digest({ folder, sources }: Product): string {
  const hash = createHash('sha256')
  for (const file of globSync(sources, { cwd: join(root, folder) }).sort()) {
    const { mtimeMs, size } = statSync(join(root, folder, file))
    hash.update(`${file} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex')
}

/** Two stacks of one checkout share what is built: only one of them builds at a time. */
async function alone(name: string, work: () => Promise<void>): Promise<void> {
  const lock = join(cache, `${name}.lock`)
  for (;;) {
    const holder = readJson<{ pid: number; birth: string }>(lock)
    if (!holder || !isAlive(holder)) break
    await sleep(200)
  }
  writeJson(lock, { pid: process.pid, birth: birthOf(process.pid) })
  try {
    await work()
  } finally {
    remove(lock)
  }
}
