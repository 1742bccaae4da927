import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Home } from './home.ts'
import { giveWay } from './priority.ts'
import { birthOf, endProcess, forgetProcess, type ProcessRecord, recordProcess } from './process-record.ts'
import { Refusal, say } from './progress.ts'

/** A program to keep running. */
export interface ProcessSpec {
  name: string
  command: string
  args: readonly string[]
  env?: Readonly<Record<string, string | undefined>>
  cwd?: string
  user?: { uid: number; gid: number }
  /** Asked again and again with the pid of the started process. */
  isReady: (pid: number) => Promise<boolean>
  readyTimeoutMs?: number
  stopSignal?: NodeJS.Signals
  stopTimeoutMs?: number
  /** A store is stopped after the programs that use it. */
  isStore?: boolean
  /** Where there is not enough CPU for all, it is the others' first. */
  givesWay?: boolean
}

interface Running {
  spec: ProcessSpec
  record: ProcessRecord
  child: ChildProcess
}

const pollMs = 40
const firstRestartMs = 100
const longestRestartMs = 5_000
const longLogBytes = 10 * 1024 * 1024

/**
 * Keeps the processes of one stack: starts them, waits until they are ready, starts them again when they die,
 * stops them. Each leads a process group of its own (Ctrl-C reaches only the supervisor, which stops them in
 * order) and writes to a log file rather than a pipe, so it survives a killed supervisor until it is swept.
 */
export class Processes {
  readonly #home: Home
  readonly #running = new Map<string, Running>()
  #isStopping = false

  constructor(home: Home) {
    this.#home = home
  }

  /** Starts a process and returns when it is ready; throws with the end of its log when it does not get there. */
  async start(spec: ProcessSpec): Promise<void> {
    if (this.#isStopping) throw new Refusal(`${spec.name} is not started: the stack is being stopped`)
    rotateLog(this.#logFile(spec.name))
    const running = this.#launch(spec)
    const deadline = performance.now() + (spec.readyTimeoutMs ?? 30_000)
    while (!(await spec.isReady(running.record.pid))) {
      if (this.#isStopping) throw new Refusal(`${spec.name} was stopped before it was ready`)
      if (hasEnded(running.child)) throw this.#failure(spec.name, `ended with ${ending(running.child)}`)
      if (performance.now() > deadline) throw this.#failure(spec.name, 'did not get ready in time')
      await sleep(pollMs)
    }
    void this.#keepAlive(running)
  }

  /** Stops everything: programs first, together, then the stores they use. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const all = [...this.#running.values()]
    await Promise.all(all.filter(({ spec }) => !spec.isStore).map((running) => this.#end(running)))
    await Promise.all(all.filter(({ spec }) => spec.isStore).map((running) => this.#end(running)))
  }

  async #end({ spec, record }: Running): Promise<void> {
    await endProcess(record, spec.stopTimeoutMs ?? 10_000)
    this.#running.delete(spec.name)
    forgetProcess(this.#home, spec.name)
  }

  #launch(spec: ProcessSpec): Running {
    const log = openSync(this.#logFile(spec.name), 'a')
    const child = spawn(spec.command, spec.args, {
      cwd: spec.cwd,
      env: { ...process.env, ...spec.env },
      stdio: ['ignore', log, log],
      detached: true,
      ...spec.user,
    })
    closeSync(log)
    // Without a listener a program that can't be started would end the supervisor.
    child.on('error', (error) => say(`  ${spec.name}: ${error.message}`))
    if (child.pid === undefined) throw new Refusal(`${spec.name} can't be started: ${spec.command}`)
    if (spec.givesWay === true) giveWay(child.pid)
    const record: ProcessRecord = {
      name: spec.name,
      pid: child.pid,
      birth: birthOf(child.pid) ?? '',
      stopSignal: spec.stopSignal ?? 'SIGTERM',
      isStore: spec.isStore ?? false,
    }
    recordProcess(this.#home, record)
    const running = { spec, record, child }
    this.#running.set(spec.name, running)
    return running
  }

  async #keepAlive(running: Running): Promise<void> {
    let current = running
    let pauseMs = firstRestartMs
    for (;;) {
      const startedAt = performance.now()
      await new Promise<void>((resolve) => {
        if (hasEnded(current.child)) resolve()
        else current.child.once('exit', () => resolve())
      })
      if (this.#isStopping) return
      const livedMs = performance.now() - startedAt
      pauseMs = livedMs > 10_000 ? firstRestartMs : Math.min(pauseMs * 2, longestRestartMs)
      say(`  ${running.spec.name} ended with ${ending(current.child)}; starting it again`)
      await sleep(pauseMs)
      if (this.#isStopping) return
      current = this.#launch(running.spec)
    }
  }

  #logFile(name: string): string {
    return this.#home.file('logs', `${name}.log`)
  }

  #failure(name: string, what: string): Refusal {
    return new Refusal(`${name} ${what}; the end of ${this.#logFile(name)}:\n${tail(this.#logFile(name), 20)}`)
  }
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null
const ending = (child: ChildProcess): string => child.signalCode ?? `code ${child.exitCode}`

function rotateLog(file: string): void {
  if (existsSync(file) && statSync(file).size > longLogBytes) renameSync(file, `${file}.1`)
}

/** The last lines of a file, or nothing when there is none. */
function tail(file: string, lines: number): string {
  if (!existsSync(file)) return ''
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
}

/** Whether this address answers with a 2xx within two seconds. */
export async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000), redirect: 'manual' })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}

/** Whether somebody accepts connections on this port, and (given `greeting`) answers it with `reply`. */
export function converses(port: number, greeting = '', reply = ''): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const finish = (result: boolean): void => {
      socket.destroy()
      resolve(result)
    }
    socket.setTimeout(2_000, () => finish(false))
    socket.once('error', () => finish(false))
    socket.once('connect', () => (reply === '' ? finish(true) : socket.write(greeting)))
    socket.once('data', (data) => finish(data.toString().startsWith(reply)))
  })
}
