import { findBusyClocks, stepTestClock } from '@meridian/core/clock/step'
import type { Pool } from '@meridian/core/db/client'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import type { Pass } from '../loop.ts'

export interface TestClocksOptions {
  engine: Pool
  keyRing: KeyRing
  shard: number
  wake(poolId: number, dueMs: number): void
}

const waitFirstMs = 4
const waitMaxMs = 250

/** Moves the clocks of projects that are made for tests. Any number may run. */
export class TestClocks {
  readonly #options: TestClocksOptions
  /** Looks in a row at clocks that only waited for runs: those mostly end at once, or not for long. */
  #waits = 0

  constructor(options: TestClocksOptions) {
    this.#options = options
  }

  async runOnce(): Promise<Pass> {
    const { engine, keyRing, shard, wake } = this.#options
    let hasMoved = false
    let isWaiting = false
    for (const clock of await findBusyClocks(engine, shard)) {
      const step = await stepTestClock(engine, keyRing, clock)
      if (step?.state === 'released') wake(step.pool, Date.now())
      if (step?.state === 'waits' || step?.state === 'released') isWaiting = true
      else if (step !== null && step.state !== 'still') hasMoved = true
    }
    if (hasMoved) return 'more'
    this.#waits = isWaiting ? this.#waits + 1 : 0
    return isWaiting ? { sleepMs: Math.min(waitMaxMs, waitFirstMs + this.#waits) } : 'idle'
  }
}
