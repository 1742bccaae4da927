import { sleep } from '../wait.ts'
import { coresUsed, type ProcessGroups, readCpu } from './cpu.ts'

const quietCores = 0.15
const sample = JSON.stringify({ a: [1, 2, 3, 'x'.repeat(200)], b: { c: true, d: null, e: 'lorem ipsum '.repeat(20) } })

/**
 * Waits until nobody outside `groups` has used more than a seventh of a core for a second, at most `patienceMs`.
 * Says whether it came to that: a figure taken in noise must be marked as such.
 */
export async function waitForQuiet(groups: ProcessGroups, patienceMs = 25_000): Promise<boolean> {
  const deadline = performance.now() + patienceMs
  do {
    const before = readCpu(groups)
    await sleep(1_000)
    if ((coresUsed(before, readCpu(groups)).other ?? 0) < quietCores) return true
  } while (performance.now() < deadline)
  return false
}

/**
 * How fast one core is right now: fixed JSON round trips a millisecond. A virtual machine's speed drifts by a factor of
 * two within the hour, so a rate means little without this beside it.
 */
export function calibrate(milliseconds = 120): number {
  const start = performance.now()
  let rounds = 0
  while (performance.now() - start < milliseconds) {
    for (let i = 0; i < 50; i += 1) JSON.stringify(JSON.parse(sample))
    rounds += 50
  }
  return Math.round(rounds / (performance.now() - start))
}
