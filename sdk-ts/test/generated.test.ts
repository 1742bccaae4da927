import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { generate } from '../generate.ts'

const folder = mkdtempSync(join(tmpdir(), 'meridian-sdk-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const filesOf = (root: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const file = join(entry.parentPath, entry.name)
        return [file.slice(root.length), readFileSync(file, 'utf8')]
      }),
  )

test('regenerating changes nothing', async () => {
  const fresh = join(folder, 'generated')
  await generate(fresh)
  expect(filesOf(fresh)).toEqual(filesOf(fileURLToPath(new URL('../src/generated', import.meta.url))))
})

test('the build is a package that others can use, with no dependencies', async () => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json'], { cwd: root })
  const { publint } = await import('publint')
  const { messages } = await publint({ pkgDir: root, pack: 'pnpm', strict: true })
  expect(messages).toEqual([])
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>
  expect(manifest).not.toHaveProperty('dependencies')
  const built = (await import(join(root, 'dist/index.js'))) as Record<string, unknown>
  expect(Object.keys(built).sort()).toEqual([
    'Listing',
    'Meridian',
    'MeridianConnectionError',
    'MeridianProblem',
    'MeridianUnexpectedAnswer',
  ])
})
