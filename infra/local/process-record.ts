import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Home, readJson, remove, writeJson } from './home.ts'

/** What is written down about a process so that a later command can find it, and be sure that it is ours. */
export interface ProcessRecord {
  name: string
  pid: number
  /** Tells this process from a later one with the same pid. */
  birth: string
  stopSignal: NodeJS.Signals
  /** Stores stop after the programs that use them. */
  isStore: boolean
}

/** When the process with this pid was born, in a form that no later process repeats; undefined when there is none. */
export function birthOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      // The command stands in brackets and may hold spaces: fields count from behind it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const [state] = fields
      if (state === 'Z' || state === 'X') return undefined
      return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19] ?? ''}`
    }
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    return started === '' ? undefined : started
  } catch {
    return undefined
  }
}

/** Whether the recorded process still runs; another process that got its pid is not it. */
export const isAlive = (record: Pick<ProcessRecord, 'pid' | 'birth'>): boolean => birthOf(record.pid) === record.birth

export const recordProcess = (home: Home, record: ProcessRecord): void =>
  writeJson(home.file('pids', `${record.name}.json`), record)

export const forgetProcess = (home: Home, name: string): void => remove(home.file('pids', `${name}.json`))

/** Every recorded process of this home, running or not. */
export function recordedProcesses(home: Home): ProcessRecord[] {
  const folder = home.folder('pids')
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => readJson<ProcessRecord>(home.file('pids', file)))
    .filter((record) => record !== undefined)
}

/** Signals the process and the group it leads; it is no error when it has gone. */
export function signalProcess(pid: number, name: NodeJS.Signals): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, name)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

/** Stops a recorded process: its own signal first, SIGKILL after `patienceMs`. Returns when it has gone. */
export async function endProcess(record: ProcessRecord, patienceMs: number): Promise<void> {
  if (!isAlive(record)) return
  signalProcess(record.pid, record.stopSignal)
  const deadline = performance.now() + patienceMs
  while (isAlive(record)) {
    if (performance.now() > deadline) signalProcess(record.pid, 'SIGKILL')
    await sleep(20)
  }
}

/** Ends whatever a stack that died has left running, programs before stores. Returns the names it had to end. */
export async function sweep(home: Home, patienceMs = 10_000): Promise<string[]> {
  const records = recordedProcesses(home)
  const leftovers = records.filter(isAlive)
  await Promise.all(leftovers.filter((record) => !record.isStore).map((record) => endProcess(record, patienceMs)))
  await Promise.all(leftovers.filter((record) => record.isStore).map((record) => endProcess(record, patienceMs)))
  for (const record of records) forgetProcess(home, record.name)
  return leftovers.map((record) => record.name)
}
