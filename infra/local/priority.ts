import { writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/**
 * Lets a process, with the group that it leads, have the CPU when others do not want it: what is due goes before what is
 * new. Best effort.
 */
export function giveWay(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
    // Linux mostly weighs groups against each other (sched(7), "The autogroup feature"), and processes only within theirs.
    writeFileSync(`/proc/${pid}/autogroup`, String(constants.priority.PRIORITY_BELOW_NORMAL))
  } catch {
    // Ended already, or a system without groups.
  }
}
