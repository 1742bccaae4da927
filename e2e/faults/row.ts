import type { World } from './world.ts'

/** One fault or attack of the list. It throws when the product did not stand it. */
export interface Row {
  title: string
  run(world: World): Promise<void>
}

/** How hard the faults hit: `ci` fits many rows into minutes, `bench` is the bar. */
export interface FaultProfile {
  name: 'ci' | 'bench'
  /** Runs a second. */
  rate: number
  /** Length of the load. */
  seconds: number
  /** Chooses the number for this profile. */
  pick(ci: number, bench: number): number
}

export const faultProfiles: Record<FaultProfile['name'], FaultProfile> = {
  ci: { name: 'ci', rate: 50, seconds: 10, pick: (ci) => ci },
  bench: { name: 'bench', rate: 500, seconds: 120, pick: (_ci, bench) => bench },
}

/** How long a claimed run is left to its executor without a sign of life. */
export const leaseMs = 15_000

/** Throws with `what` unless `condition` holds. */
export function ensure(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what)
}
