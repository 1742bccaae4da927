import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCommand } from './command.ts'
import { remove, root } from './home.ts'
import { brokenWalls } from './walls.ts'

const rooms = ['core', 'api', 'workers', 'sdk-ts', 'console', 'infra', 'e2e']
let checkout: string

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'meridian-walls-'))
  // A checkout by itself: inside another one, oxlint would follow the ignore files of that.
  mkdirSync(join(checkout, '.git'))
  // Rules that need types are not walls, and their tool is not found from a temporary folder.
  const config = JSON.parse(readFileSync(join(root, '.oxlintrc.json'), 'utf8')) as object
  write('.oxlintrc.json', JSON.stringify({ ...config, options: {} }))
  for (const room of rooms) write(`${room}/package.json`, '{}')
})
afterEach(() => remove(checkout))

function write(file: string, text: string): void {
  mkdirSync(dirname(join(checkout, file)), { recursive: true })
  writeFileSync(join(checkout, file), text)
}

interface Diagnostic {
  code: string
  filename: string
}

/** What oxlint finds broken, with the checkout's own configuration. */
async function lint(): Promise<Diagnostic[]> {
  const config = join(checkout, '.oxlintrc.json')
  const { stdout } = await runCommand(
    join(root, 'node_modules/.bin/oxlint'),
    ['--config', config, '--format', 'json', '--allow', 'all', '--deny', 'import/no-cycle'],
    { cwd: checkout },
  )
  return (JSON.parse(stdout) as { diagnostics: Diagnostic[] }).diagnostics
}

const forbidden: [file: string, name: string][] = [
  ['core/src/0.ts', '@meridian/api'],
  ['core/src/1.ts', '@meridian/workers/src/loop.ts'],
  ['core/src/2.ts', '../../api/src/app.ts'],
  ['core/src/3.ts', 'undici'],
  ['core/src/4.ts', 'hono'],
  ['core/src/5.ts', 'bullmq'],
  ['core/src/6.ts', 'node:http'],
  ['api/src/0.ts', '@meridian/workers/loop'],
  ['api/src/1.ts', '@meridian/sdk'],
  ['api/src/2.ts', '../../core/src/run/run.ts'],
  ['api/src/3.ts', 'pg'],
  ['api/src/4.ts', 'drizzle-orm'],
  ['api/src/5.ts', 'drizzle-orm/node-postgres'],
  ['workers/src/0.ts', '@meridian/api/app'],
  ['workers/src/1.ts', 'pg'],
  ['console/src/routes/0.ts', '@meridian/core/run/run'],
  ['console/src/routes/1.ts', '../../../core/src/run/run.ts'],
  ['console/src/lib/2.svelte', '@meridian/core/run/run'],
  ['sdk-ts/src/0.ts', '@meridian/core/run/run'],
  ['infra/local/0.ts', '@meridian/api'],
  ['infra/local/1.ts', 'pg'],
  ['e2e/0.ts', '@meridian/core/run/run'],
  ['e2e/1.ts', '@meridian/infra'],
  ['e2e/2.ts', '../infra/local/up.ts'],
  ['e2e/3.ts', 'drizzle-orm'],
]

const permitted: [file: string, name: string][] = [
  ['core/src/0.ts', 'pg'],
  ['core/src/1.ts', 'drizzle-orm'],
  ['api/src/0.ts', '@meridian/core/run/run'],
  ['workers/src/0.ts', 'undici'],
  ['console/src/routes/0.ts', '@meridian/sdk'],
  ['infra/local/0.ts', '@meridian/core/db/migrate'],
  ['e2e/0.ts', '@meridian/sdk'],
  ['e2e/1.ts', 'pg'],
]

function writeImports(imports: typeof forbidden): void {
  for (const [file, name] of imports) {
    const text = `import * as thing from '${name}'\nexport const use = thing\n`
    write(file, file.endsWith('.svelte') ? `<script lang="ts">\n${text}</script>\n` : text)
  }
}

test('no room imports what it must not', async () => {
  writeImports(forbidden)
  const found = await lint()
  expect(found.map(({ filename }) => filename).sort()).toEqual(forbidden.map(([file]) => file).sort())
  expect(new Set(found.map(({ code }) => code))).toEqual(new Set(['eslint(no-restricted-imports)']))
})

test('every room imports what it may', async () => {
  writeImports(permitted)
  expect(await lint()).toEqual([])
})

test('what is imported only when it is needed is imported too', async () => {
  write('api/src/app.ts', "export const load = () => import('@meridian/workers/loop')\n")
  expect((await lint()).map(({ code }) => code)).toEqual(['eslint(no-restricted-imports)'])
})

test('a circle of imports is found', async () => {
  write('core/src/a.ts', "import { b } from './b.ts'\nexport const a = () => b\n")
  write('core/src/b.ts', "import { c } from './c.ts'\nexport const b = () => c\n")
  write('core/src/c.ts', "import { a } from './a.ts'\nexport const c = () => a\n")
  expect(new Set((await lint()).map(({ code }) => code))).toEqual(new Set(['import(no-cycle)']))
})

test('core asks neither the clock of the process nor its environment', async () => {
  write('core/src/run.ts', 'export const now = Date.now()\nexport const url = process.env.DATABASE_URL\n')
  write('core/src/kernel/clock.ts', 'export const now = () => Date.now()\n')
  write('api/src/app.ts', 'export const now = () => Date.now()\n')
  const found = await lint()
  expect(found.map(({ filename, code }) => `${filename} ${code}`)).toEqual([
    'core/src/run.ts eslint(no-restricted-properties)',
    'core/src/run.ts eslint(no-restricted-properties)',
  ])
})

test('a room that depends on what it must not import is found, and so is a file named for nothing', () => {
  write('api/package.json', '{ "dependencies": { "@meridian/core": "*", "@meridian/workers": "*", "pg": "*" } }')
  write('console/package.json', '{ "devDependencies": { "@meridian/sdk": "*", "@meridian/core": "*" } }')
  write('e2e/package.json', '{ "devDependencies": { "@meridian/sdk": "*", "pg": "*" } }')
  write('workers/src/utils.ts', '')
  expect(brokenWalls(checkout)).toEqual([
    'api/package.json: api must not depend on @meridian/workers',
    'api/package.json: api must not depend on pg',
    'console/package.json: console must not depend on @meridian/core',
    'workers/src/utils.ts: name a file for what it exports',
  ])
})

test('the walls of this checkout stand', () => {
  expect(brokenWalls(root)).toEqual([])
})
