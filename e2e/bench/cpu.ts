import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** Seconds of CPU that each named group of processes, and the whole machine, have used so far. */
export interface CpuReading {
  atMs: number
  machine: number
  groups: Record<string, number>
}

/** Processes by what they are; a process's descendants belong to its group unless another group names them. */
export type ProcessGroups = Record<string, readonly number[]>

interface Process {
  parent: number
  withReaped: number
}

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK']).toString())

/**
 * Reads /proc. A group's figure is the CPU of its processes and of all their descendants, those included that have
 * ended and were waited for (a Postgres backend's time is its postmaster's once it is gone).
 */
export function readCpu(groups: ProcessGroups): CpuReading {
  const processes = readProcesses()
  const children = new Map<number, number[]>()
  for (const [pid, { parent }] of processes) children.set(parent, [...(children.get(parent) ?? []), pid])
  const named = new Set(Object.values(groups).flat())
  const seconds = (pid: number): number =>
    (processes.get(pid)?.withReaped ?? 0) +
    (children.get(pid) ?? []).filter((child) => !named.has(child)).reduce((sum, child) => sum + seconds(child), 0)
  return {
    atMs: performance.now(),
    machine: readMachine(),
    groups: Object.fromEntries(
      Object.entries(groups).map(([name, pids]) => [name, pids.reduce((sum, pid) => sum + seconds(pid), 0)]),
    ),
  }
}

/** Cores used between two readings, by group; `other` is what the rest of the machine used. */
export function coresUsed(before: CpuReading, after: CpuReading): Record<string, number> {
  const seconds = (after.atMs - before.atMs) / 1_000
  const cores: Record<string, number> = {}
  for (const name of Object.keys(after.groups)) {
    cores[name] = ((after.groups[name] ?? 0) - (before.groups[name] ?? 0)) / seconds
  }
  const known = Object.values(cores).reduce((sum, value) => sum + value, 0)
  return { ...cores, other: Math.max(0, (after.machine - before.machine) / seconds - known) }
}

function readProcesses(): Map<number, Process> {
  const processes = new Map<number, Process>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      // The command stands in brackets and may hold spaces: the fields count from behind it.
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
      const [user = 0, system = 0, reapedUser = 0, reapedSystem = 0] = fields.slice(11, 15)
      const own = (user + system) / ticksPerSecond
      processes.set(Number(name), {
        parent: fields[1] ?? 0,
        withReaped: own + (reapedUser + reapedSystem) / ticksPerSecond,
      })
    } catch {
      // It ended while we read.
    }
  }
  return processes
}

function readMachine(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user + nice + system + interrupts + softInterrupts + steal) / ticksPerSecond
}
