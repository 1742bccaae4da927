import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Home, openHome, remove } from './home.ts'
import { findFreePort } from './ports.ts'
import { birthOf, isAlive, recordedProcesses, recordProcess, sweep } from './process-record.ts'
import { answers, Processes, type ProcessSpec } from './processes.ts'

let home: Home
let processes: Processes

beforeEach(() => {
  home = openHome(mkdtempSync(join(tmpdir(), 'meridian-processes-')))
  processes = new Processes(home)
})

afterEach(async () => {
  await processes.stop()
  await sweep(home)
  remove(home.path)
})

/** A web server; it writes a line when it is asked to stop, so that an orderly end can be told from a kill. */
async function webServer(changes: Partial<ProcessSpec> = {}): Promise<ProcessSpec> {
  const port = await findFreePort()
  const program = `
    process.on('SIGTERM', () => { console.log('ended well'); process.exit(0) })
    require('node:http').createServer((q, r) => r.end('hello')).listen(${port}, '127.0.0.1')`
  return {
    name: 'web',
    command: process.execPath,
    args: ['-e', program],
    isReady: () => answers(`http://127.0.0.1:${port}`),
    ...changes,
  }
}

const pidOf = (name: string): number => recordedProcesses(home).find((record) => record.name === name)?.pid ?? 0

test('a killed child is started again and gets ready again', async () => {
  const spec = await webServer()
  await processes.start(spec)
  const pid = pidOf('web')
  process.kill(pid, 'SIGKILL')
  await vi.waitFor(() => expect(pidOf('web')).not.toBe(pid), 5_000)
  await vi.waitFor(async () => expect(await spec.isReady(0)).toBe(true), 5_000)
})

test('a program that gives way has a lower priority than others, also when it is started again', async () => {
  await processes.start(await webServer({ name: 'other' }))
  await processes.start(await webServer({ givesWay: true }))
  const pid = pidOf('web')
  expect(getPriority(pid)).toBeGreaterThan(getPriority(pidOf('other')))
  process.kill(pid, 'SIGKILL')
  await vi.waitFor(() => expect(pidOf('web')).not.toBe(pid), 5_000)
  expect(getPriority(pidOf('web'))).toBeGreaterThan(getPriority(pidOf('other')))
})

test('stopping lets a child end well, and leaves neither it nor its record', async () => {
  const spec = await webServer()
  await processes.start(spec)
  const pid = pidOf('web')
  await processes.stop()
  expect(birthOf(pid)).toBeUndefined()
  expect(recordedProcesses(home)).toEqual([])
  expect(readFileSync(home.file('logs', 'web.log'), 'utf8')).toContain('ended well')
})

test('a child that ignores its signal is killed', async () => {
  const deaf = { args: ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')"] }
  const isReady = async (): Promise<boolean> => readFileSync(home.file('logs', 'web.log'), 'utf8').includes('up')
  await processes.start(await webServer({ ...deaf, isReady, stopTimeoutMs: 100 }))
  const pid = pidOf('web')
  await processes.stop()
  expect(birthOf(pid)).toBeUndefined()
})

test('a child that ends before it is ready fails its start with the end of its log', async () => {
  const broken = { args: ['-e', "console.error('no such database'); process.exit(3)"] }
  await expect(processes.start(await webServer({ ...broken, isReady: async () => false }))).rejects.toThrow(
    /web ended with code 3.*no such database/s,
  )
})

test('a program that is not there fails its start', async () => {
  await expect(processes.start(await webServer({ command: '/nowhere/program' }))).rejects.toThrow('/nowhere/program')
})

test('the children of a killed supervisor live on, and a sweep ends them, programs before stores', async () => {
  const supervisor = await startSupervisor()
  const [store, program] = [pidOf('store'), pidOf('program')]
  supervisor.kill('SIGKILL')
  await once(supervisor, 'exit')
  expect([birthOf(store), birthOf(program)]).not.toContain(undefined)
  expect((await sweep(home)).sort()).toEqual(['program', 'store'])
  expect([birthOf(store), birthOf(program)]).toEqual([undefined, undefined])
  const ends = ['program', 'store'].map((name) => Number(readFileSync(home.file('logs', `${name}.log`), 'utf8')))
  expect(ends[0]).toBeLessThanOrEqual(ends[1] ?? 0)
})

test('a sweep leaves a process alone that got the pid of one of ours', async () => {
  const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  const pid = stranger.pid ?? 0
  recordProcess(home, { name: 'web', pid, birth: 'another boot:1', stopSignal: 'SIGKILL', isStore: false })
  expect(await sweep(home)).toEqual([])
  expect(birthOf(pid)).toBeDefined()
  expect(recordedProcesses(home)).toEqual([])
  stranger.kill('SIGKILL')
})

test('a process that ended is not alive, even before anybody has asked for its exit code', async () => {
  const child = spawn(process.execPath, ['-e', ''])
  const record = { pid: child.pid ?? 0, birth: birthOf(child.pid ?? 0) ?? '' }
  await once(child, 'exit')
  expect(isAlive(record)).toBe(false)
})

/** A process that supervises a program and a store, each of which writes when it was ended. */
async function startSupervisor(): Promise<ChildProcess> {
  const file = home.file('supervise.ts')
  const child = `process.on('SIGTERM', () => { console.log(Date.now()); process.exit(0) }); setInterval(() => {}, 1000)`
  writeFileSync(
    file,
    `import { openHome } from '${import.meta.dirname}/home.ts'
     import { Processes } from '${import.meta.dirname}/processes.ts'
     const processes = new Processes(openHome('${home.path}'))
     let asked = 0
     for (const [name, isStore] of [['store', true], ['program', false]] as const)
       await processes.start({ name, isStore, command: process.execPath, args: ['-e', ${JSON.stringify(child)}],
         isReady: async () => ++asked % 8 === 0 })
     console.log('started')`,
  )
  const supervisor = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(supervisor.stdout, 'data')
  return supervisor
}
