import { sleep } from '../wait.ts'
import type { World } from './world.ts'

/** Keeps a process down: whenever it is started again within `milliseconds`, it is killed again. */
export async function keepDown(world: World, name: string, milliseconds: number): Promise<void> {
  const until = performance.now() + milliseconds
  while (performance.now() < until) {
    for (const pid of world.stack.pids(name)) tryKill(pid, 'SIGKILL')
    await sleep(20)
  }
}

/** Whether a process with this pid runs. */
export const isAlive = (pid: number): boolean => tryKill(pid, 0)

/** Sends a signal; false when the process has gone. */
export function tryKill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch {
    return false
  }
}
