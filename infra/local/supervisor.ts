import { setTimeout as sleep } from 'node:timers/promises'
import { type Claim, claimFile, ownClaim } from './claim.ts'
import { type Home, readJson, remove, writeJson } from './home.ts'
import { isAlive, signalProcess, sweep } from './process-record.ts'
import type { StackUrls } from './stack.ts'

/** The `up` that keeps a home's stack running, as other commands see it. */
export interface Supervisor extends Claim {
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
export const becomeSupervisor = (home: Home): Supervisor | undefined =>
  claimFile<Supervisor>(fileOf(home), { ready: false })

/** Says how far this process is as the supervisor. */
export const tellSupervisor = (home: Home, state: Omit<Supervisor, keyof Claim>): void =>
  writeJson(fileOf(home), { ...ownClaim(), ...state })

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
