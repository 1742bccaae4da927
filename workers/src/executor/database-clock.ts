/** This process's idea of the database's clock, kept right by every answer that carries it. */
export class DatabaseClock {
  #offsetMs = 0
  #roundTripMs = Number.POSITIVE_INFINITY
  #takenAtMs = 0

  /** Monotonic with fractions, so that neither steps of the wall clock nor rounding make a run early. */
  static localMs(): number {
    return performance.timeOrigin + performance.now()
  }

  /** The database's clock now, epoch milliseconds. */
  nowMs(): number {
    return DatabaseClock.localMs() + this.#offsetMs
  }

  /** What this process's wall clock (`Date.now()`) showed at an instant of the database's clock, and back. */
  fromWallMs(wallMs: number): number {
    return wallMs + (DatabaseClock.localMs() - Date.now()) + this.#offsetMs
  }

  /**
   * Learns from an answer: the database read its clock somewhere between the question and the answer. The most certain
   * sample wins, and none is believed for longer than a minute, because clocks drift, nor when a later one contradicts
   * it: one of the clocks was set, or this machine slept.
   */
  observe(askedAtMs: number, answeredAtMs: number, databaseMs: number): void {
    const roundTripMs = answeredAtMs - askedAtMs
    // The answer's clock was read late in the statement; assuming the earliest possible instant would make us early.
    const offsetMs = databaseMs - answeredAtMs
    const isContradicted = offsetMs > this.#offsetMs + this.#roundTripMs || this.#offsetMs > offsetMs + roundTripMs
    if (roundTripMs >= this.#roundTripMs && answeredAtMs - this.#takenAtMs < 60_000 && !isContradicted) return
    this.#offsetMs = offsetMs
    this.#roundTripMs = roundTripMs
    this.#takenAtMs = answeredAtMs
  }
}
