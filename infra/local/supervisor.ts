import { linkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Home, readJson, remove, writeJson } from './home.ts'
import { birthOf, isAlive, signalProcess, sweep } from './process-record.ts'
import type { StackUrls } from './stack.ts'

/** The `up` that keeps a home's stack running, as other commands see it. */
export interface Supervisor {
  pid: number
  birth: string
  ready: boolean
  urls?: StackUrls
  /** Whether the seeded people can sign in: false with an identity provider of somebody else. */
  hasSeededPeople?: boolean
}

const fileOf = (home: Home): string => home.file('supervisor.json')

/** The running supervisor of a home, if there is one. */
export function findSupervisor(home: Home): Supervisor | undefined {
  const supervisor = readJson<Supervisor>(fileOf(home))
  return supervisor && isAlive(supervisor) ? supervisor : undefined
}

/** Makes this process the supervisor of a home; returns the other one when somebody else is. */
export function becomeSupervisor(home: Home): Supervisor | undefined {
  for (;;) {
    // Linking a finished draft either gives the whole file or fails; nobody ever reads half of it.
    const draft = home.file(`supervisor.${process.pid}.new`)
    writeJson(draft, { pid: process.pid, birth: birthOf(process.pid) ?? '', ready: false })
    try {
      linkSync(draft, fileOf(home))
      return undefined
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const other = findSupervisor(home)
      if (other) return other
      remove(fileOf(home))
    } finally {
      remove(draft)
    }
  }
}

/** Says how far this process is as the supervisor. */
export const tellSupervisor = (home: Home, state: Omit<Supervisor, 'pid' | 'birth'>): void =>
  writeJson(fileOf(home), { pid: process.pid, birth: birthOf(process.pid) ?? '', ...state })

/** Ends being the supervisor. */
export const resignSupervisor = (home: Home): void => remove(fileOf(home))

const patienceMs = 45_000

/** Stops a home's stack, and what a supervisor that died has left of it. Returns whether anything ran. */
export async function stopStack(home: Home): Promise<boolean> {
  const supervisor = findSupervisor(home)
  if (supervisor) {
    process.kill(supervisor.pid, 'SIGTERM')
    const deadline = performance.now() + patienceMs
    while (isAlive(supervisor)) {
      if (performance.now() > deadline) signalProcess(supervisor.pid, 'SIGKILL')
      await sleep(50)
    }
  }
  const leftovers = await sweep(home)
  resignSupervisor(home)
  return supervisor !== undefined || leftovers.length > 0
}
