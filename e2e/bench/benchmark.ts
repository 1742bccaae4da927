import type { Lab } from './lab.ts'

/** One figure of one round. Without `metric` it is the benchmark's own figure, else a further one beside it. */
export interface Measure {
  metric?: string
  value: number
  unit: string
}

/** A figure with everything that places it. */
export interface Sample extends Measure {
  name: string
  contender: string
  round: number
}

/** Somebody who takes part in a benchmark: Meridian, a peer, or a yardstick. */
export interface Contender {
  name: string
  /** Why it is left out on this machine, when it is. */
  whyAway?(): string | undefined
  round(lab: Lab, round: number): Promise<Measure[]>
}

/** A benchmark runs each contender once per round, so that all of them meet the same weather. */
export interface Benchmark {
  /** One sentence: what is measured. */
  title: string
  contenders: readonly Contender[]
  /** A fixed number of rounds, for what takes long or needs no peers. */
  rounds?: number
}
