import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

// What may be imported is oxlint's to say (.oxlintrc.json). Here is what it can't say.

/** What a room may name in its manifest: what it does not depend on, it can't import by accident. */
const rooms: Record<string, { ours: string[]; mayUseDatabase: boolean }> = {
  core: { ours: [], mayUseDatabase: true },
  api: { ours: ['@meridian/core'], mayUseDatabase: false },
  workers: { ours: ['@meridian/core'], mayUseDatabase: false },
  'sdk-ts': { ours: [], mayUseDatabase: false },
  console: { ours: ['@meridian/sdk'], mayUseDatabase: false },
  infra: { ours: ['@meridian/core'], mayUseDatabase: false },
  e2e: { ours: ['@meridian/sdk'], mayUseDatabase: true },
}

const databasePackages = ['drizzle-orm', 'pg', 'postgres']
// Names that say nothing attract everything.
const banned = /^(types|utils|util|helpers|helper|common|misc)\.(ts|svelte|js)$/
const ignored = [
  '**/node_modules/**',
  '**/build/**',
  '**/.builds/**',
  '**/dist/**',
  '**/.svelte-kit/**',
  '**/generated/**',
]

/** Every wall between the rooms of a checkout that is broken, a sentence each. */
export const brokenWalls = (root: string): string[] => [
  ...Object.entries(rooms).flatMap(([room, rule]) => brokenManifest(root, room, rule)),
  ...globSync('*/**/*.{ts,js,svelte}', { cwd: root, exclude: ignored })
    .filter((file) => banned.test(basename(file)))
    .map((file) => `${file}: name a file for what it exports`),
]

interface Manifest {
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

function brokenManifest(root: string, room: string, rule: { ours: string[]; mayUseDatabase: boolean }): string[] {
  const manifest = JSON.parse(readFileSync(join(root, room, 'package.json'), 'utf8')) as Manifest
  const names = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
  return names
    .filter((name) => (name.startsWith('@meridian/') ? !rule.ours.includes(name) : false) || isForeign(name, rule))
    .map((name) => `${room}/package.json: ${room} must not depend on ${name}`)
}

const isForeign = (name: string, rule: { mayUseDatabase: boolean }): boolean =>
  databasePackages.includes(name) && !rule.mayUseDatabase
