import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type CommandResult, runCommand } from './command.ts'
import { type Home, openHome, readJson, remove } from './home.ts'
import type { Ports } from './ports.ts'
import { birthOf, isAlive, recordedProcesses } from './process-record.ts'
import type { Status } from './status.ts'
import { findSupervisor } from './supervisor.ts'

const main = join(import.meta.dirname, 'main.ts')
let home: Home

// In a clean environment: what a developer's shell or a test run has set must not reach the stack.
const environment = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
const meridian = (...args: string[]): Promise<CommandResult> =>
  runCommand('/usr/bin/env', [
    '-i',
    ...pairs({ ...environment, MERIDIAN_HOME: home.path }),
    process.execPath,
    main,
    ...args,
  ])
const pairs = (variables: Record<string, string>): string[] =>
  Object.entries(variables).map(([name, value]) => `${name}=${value}`)

const readStatus = async (): Promise<Status> => JSON.parse((await meridian('status', '--json')).stdout) as Status

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'meridian-up-'))
  chmodSync(folder, 0o755)
  home = openHome(folder)
})
afterAll(async () => {
  await meridian('reset')
  remove(home.path)
}, 60_000)

describe('up, status and down', { timeout: 180_000 }, () => {
  test('a fresh home gets ready, and status says how to use it', async () => {
    expect(await readStatus()).toMatchObject({ ready: false, people: [] })
    const started = await meridian('up', '--detach')
    expect(started.output).toContain('Ready in')
    const status = await readStatus()
    expect(Object.keys(status)).toEqual(['ready', 'urls', 'apiKey', 'tenant', 'project', 'people'])
    expect(status).toMatchObject({ ready: true, tenant: 'acme', project: 'billing' })
    expect(status.people.map(({ email, role }) => `${role} ${email}`)).toEqual([
      'owner owner@acme.test',
      'operator operator@acme.test',
      'viewer viewer@acme.test',
    ])
    const jobs = await listJobs(status)
    expect(jobs.sort()).toEqual([
      'Heartbeat',
      'Hourly report',
      'Import from a flaky partner',
      'Legacy export',
      'Nightly invoices',
    ])
  })

  test.runIf(process.platform === 'linux')('nothing listens beyond the loopback address', () => {
    const ports = new Set(Object.values(readJson<Ports>(home.file('ports.json')) ?? {}))
    const listening = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listenersOn(file, ports))
    expect(new Set(listening.map(({ port }) => port))).toEqual(ports)
    expect(new Set(listening.map(({ address }) => address))).toEqual(new Set(['0100007F']))
  })

  test('a second up beside the first one tells that it runs', async () => {
    const pid = findSupervisor(home)?.pid
    const second = await meridian('up', '--detach')
    expect(second.ok).toBe(true)
    expect(second.output).toContain('It runs already')
    expect(findSupervisor(home)?.pid).toBe(pid)
  })

  test.each(['api', 'engine', 'executor', 'console'])('a killed %s is running again soon', async (name) => {
    const pid = recordedProcesses(home).find((record) => record.name === name)?.pid ?? 0
    process.kill(pid, 'SIGKILL')
    await vi.waitFor(async () => expect(await readStatus()).toMatchObject({ ready: true }), 20_000)
    await vi.waitFor(() => expect(recordedProcesses(home).find((record) => record.name === name)?.pid).not.toBe(pid))
  })

  test('down after a killed up leaves no process', async () => {
    const records = recordedProcesses(home)
    expect(records.every(isAlive)).toBe(true)
    process.kill(findSupervisor(home)?.pid ?? 0, 'SIGKILL')
    await vi.waitFor(() => expect(findSupervisor(home)).toBeUndefined())
    expect(await readStatus()).toMatchObject({ ready: false })
    expect((await meridian('down')).ok).toBe(true)
    expect(records.filter(isAlive).map(({ name }) => name)).toEqual([])
  })

  test('the next up has the data of the first, and Ctrl-C stops it without a trace', async () => {
    const command = ['-i', ...pairs({ ...environment, MERIDIAN_HOME: home.path }), process.execPath, main, 'up']
    const up = spawn('/usr/bin/env', command, { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(up, 'exit').then(([code]) => Promise.reject(new Error(`up ended with ${String(code)}`)))
    await Promise.race([once(up.stdout, 'data'), ended])
    const status = await vi.waitFor(async () => {
      const current = await readStatus()
      expect(current.ready).toBe(true)
      return current
    }, 10_000)
    expect(await listJobs(status)).toHaveLength(5)
    const records = recordedProcesses(home)
    up.kill('SIGINT')
    await expect(ended).rejects.toThrow('up ended with 0')
    expect(records.filter(isAlive).map(({ name }) => name)).toEqual([])
    expect(recordedProcesses(home)).toEqual([])
    expect(readFileSync(home.file('logs', 'postgres.log'), 'utf8').trimEnd()).toMatch(/database system is shut down$/)
  })

  test('up interrupted while it starts leaves nothing, and the next one gets ready', async () => {
    await meridian('reset')
    expect(existsSync(home.path)).toBe(false)
    const interrupted = meridian('up', '--detach')
    const supervisor = await vi.waitFor(() => findSupervisor(home) ?? Promise.reject(new Error('not yet')), 10_000)
    await vi.waitFor(() => expect(recordedProcesses(home).length).toBeGreaterThan(2), 20_000)
    process.kill(supervisor.pid, 'SIGTERM')
    await interrupted
    expect(birthOf(supervisor.pid)).not.toBe(supervisor.birth)
    expect(recordedProcesses(home)).toEqual([])
    const next = await meridian('up', '--detach')
    expect(next.ok, next.output).toBe(true)
    expect((await meridian('down')).ok).toBe(true)
  })
})

async function listJobs({ urls, apiKey }: Status): Promise<string[]> {
  const response = await fetch(`${urls.api}/v1/jobs`, { headers: { authorization: `Bearer ${apiKey}` } })
  return ((await response.json()) as { data: { name: string }[] }).data.map(({ name }) => name)
}

const listenersOn = (file: string, ports: Set<number>): { address: string; port: number }[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state]) => state === '0A')
    .map(([, local = '']) => ({
      address: local.split(':')[0] ?? '',
      port: Number.parseInt(local.split(':')[1] ?? '', 16),
    }))
    .filter(({ port }) => ports.has(port))
