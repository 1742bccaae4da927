import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
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
  /** Where each build is kept by itself: a running program must not lose its files to the next build. */
  kept?: string
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
  kept: '.builds',
}

/** Builds the SDK, which the console and the end-to-end tests import, if its sources changed. */
export const buildSdk = (): Promise<string> => build(sdk)

/** Builds the console if its sources, or those of the SDK, changed. Returns the program to run. */
export async function buildConsole(): Promise<string> {
  await build(sdk)
  return build(console)
}

/**
 * Builds a product unless it was built from these very sources, and returns the path of its output. Throws with what
 * the build said when it fails.
 */
export async function build(product: Product, checkout = root): Promise<string> {
  const folder = join(checkout, product.folder)
  const cache = join(checkout, 'node_modules/.cache/meridian')
  const stamp = join(cache, `${product.folder}.sources`)
  const output = (sources: string): string =>
    product.kept ? join(folder, product.kept, sources, basename(product.output)) : join(folder, product.output)
  const isFresh = (sources: string): boolean =>
    existsSync(output(sources)) &&
    (product.kept !== undefined || (existsSync(stamp) && readFileSync(stamp, 'utf8') === sources))
  const before = digest(folder, product.sources)
  if (isFresh(before)) return output(before)
  return alone(join(cache, `${product.folder}.lock`), async () => {
    const sources = digest(folder, product.sources)
    if (isFresh(sources)) return output(sources)
    const result = await step(`building ${product.name}`, () => runCommand('pnpm', ['run', 'build'], { cwd: folder }))
    if (!result.ok) throw new Refusal(`${product.name} does not build (${result.ending}):\n${result.output}`)
    if (product.kept) keep(dirname(join(folder, product.output)), dirname(output(sources)))
    else writeFileSync(stamp, sources)
    return output(sources)
  })
}

const buildsKept = 5

/** Copies a build to a place of its own, and removes those that have been replaced for long. */
function keep(built: string, place: string): void {
  cpSync(built, `${place}.new`, { recursive: true })
  remove(place)
  renameSync(`${place}.new`, place)
  const all = dirname(place)
  const byAge = readdirSync(all)
    .map((name) => join(all, name))
    .sort((left, right) => statSync(right).ctimeMs - statSync(left).ctimeMs)
  for (const old of byAge.slice(buildsKept)) remove(old)
}

/** Changes when any source is added, removed or touched. */
function digest(folder: string, sources: string[]): string {
  const hash = createHash('sha256')
  for (const file of globSync(sources, { cwd: folder }).sort()) {
    const { mtimeMs, size } = statSync(join(folder, file))
    hash.update(`${file} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex').slice(0, 20)
}

/** Two stacks of one checkout share what is built: only one of them builds at a time. */
async function alone<Result>(lock: string, work: () => Promise<Result>): Promise<Result> {
  while (claimFile(lock, {})) await sleep(200)
  try {
    return await work()
  } finally {
    remove(lock)
  }
}
