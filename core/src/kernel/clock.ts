/** The process's clock. It only decides when to look; due decisions use the database's clock. */
export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number
}

export const systemClock: Clock = { nowMs: () => Date.now() }
