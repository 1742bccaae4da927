/** How much work a benchmark does: `bench` for figures to quote, `ci` to show that it works. */
export interface Profile {
  name: 'ci' | 'bench'
  rounds: number
  /** Runs in a drain. */
  runs: number
  /** Runs that a process works off before its first drain counts: about as many as it takes until its code is compiled. */
  warmUpRuns: number
  /** How long creates are sent before those that count: an API takes about 20,000 of them until its code is compiled. */
  warmUpSeconds: number
  /** Tenants that share a drain in the benchmark `tenants`. */
  tenants: number
  /** Runs of the neighbour that wait in the benchmark `neighbour`. */
  backlog: number
  /** Length of what is measured by time. */
  seconds: number
  /** Runs scheduled for next month in the benchmarks `million` and `history`. */
  futureRuns: number
  /** Finished runs in the benchmark `history`. */
  finishedRuns: number
  waitsForQuiet: boolean
}

export const profiles: Record<Profile['name'], Profile> = {
  bench: {
    name: 'bench',
    rounds: 5,
    runs: 200_000,
    warmUpRuns: 100_000,
    warmUpSeconds: 20,
    tenants: 200,
    backlog: 100_000,
    seconds: 20,
    futureRuns: 1_000_000,
    finishedRuns: 10_000_000,
    waitsForQuiet: true,
  },
  ci: {
    name: 'ci',
    rounds: 1,
    runs: 10_000,
    warmUpRuns: 2_000,
    warmUpSeconds: 2,
    tenants: 20,
    backlog: 5_000,
    seconds: 4,
    futureRuns: 20_000,
    finishedRuns: 50_000,
    waitsForQuiet: false,
  },
}
