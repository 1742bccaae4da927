import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { claimFile } from './claim.ts'
import { runCommand } from './command.ts'
import { remove, root } from './home.ts'
import { Refusal, step } from './progress.ts'

/** Something that is built from sources of the checkout. */
export interface Product {
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

/** Builds a product unless it was built from these very sources. Throws with the output when it does not build. */
export async function build(product: Product, checkout = root): Promise<void> {
  const folder = join(checkout, product.folder)
  const stamp = join(checkout, 'node_modules/.cache/meridian', `${product.folder}.sources`)
  const isFresh = (): boolean =>
    existsSync(join(folder, product.output)) &&
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === digest(folder, product.sources)
  if (isFresh()) return
  await alone(`${stamp}.lock`, async () => {
    if (isFresh()) return
    const sources = digest(folder, product.sources)
    const result = await step(`building ${product.name}`, () => runCommand('pnpm', ['run', 'build'], { cwd: folder }))
    if (!result.ok) throw new Refusal(`${product.name} does not build (${result.ending}):\n${result.output}`)
    mkdirSync(dirname(stamp), { recursive: true })
    writeFileSync(stamp, sources)
  })
}

/** Changes when any source is added, removed or touched. */
function digest(folder: string, sources: string[]): string {
  const hash = createHash('sha256')
  for (const file of globSync(sources, { cwd: folder }).sort()) {
    const { mtimeMs, size } = statSync(join(folder, file))
    hash.update(`${file} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex')
}

/** Two stacks of one checkout share what is built: only one of them builds at a time. */
async function alone(lock: string, work: () => Promise<void>): Promise<void> {
  while (claimFile(lock, {})) await sleep(200)
  try {
    await work()
  } finally {
    remove(lock)
  }
}
