import { type Pool, runNamed } from '../db/client.ts'
import { type ClassShares, type ClassStanding, type PerClass, perClass, queueClasses, roomOf } from '../flow/classes.ts'
import { type ClassedLine, type Line, linesByClass, type Owed } from '../flow/lines.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type AdmitOptions, type Admitted, admitPlain, divideRoom, linesMax } from './admit.ts'
import { type Preempted, preemptRuns } from './preempt.ts'

export interface ClassOptions extends Omit<AdmitOptions, 'owed'> {
  /** Slots that the executors of the pool keep free for critical runs. */
  spare: number
  /** What is reserved for each class, in percent. */
  reserved: ClassShares['reserved']
  /** What earlier divisions left owed, class by class. */
  owed?: PerClass<Owed>
}

export interface AdmittedByClass {
  critical: Admitted[]
  others: Admitted[]
  /** What waits again, so that critical runs have slots: its executors have to be told to stop. */
  preempted: Preempted[]
  /** Critical runs wait for want of a slot: the next one that comes free is theirs. */
  criticalWaits: boolean
}

interface Standing {
  lines: ClassedLine[]
  tenants: [id: Uuid, weight: number, used: number, queueClass: number][]
}

/**
 * Gives slots to runs that are due where queues have classes: first among the classes of the pool, then, within each, as
 * `admitRuns` does. What a tenant has in one class is not held against it in another. For installations that use classes: one
 * statement more than where none does.
 */
export async function admitByClass(pool: Pool, options: ClassOptions): Promise<AdmittedByClass> {
  const { spare, reserved, owed = perClass((): Owed => new Map()), ...plain } = options
  const { batch, capacity, roomMin = 1 } = plain
  // No room for any: what is due becomes ready, and nothing is given out.
  await admitPlain(pool, { ...plain, capacity: 0, roomMin: 1 }, batch)
  const { lines, held } = await readStanding(pool, options.pool)
  const waits = perClass((of) => lines[of].length > 0)
  const standing: ClassStanding = { spare, reserved, capacity, held, waits }
  const admitted = perClass((): Admitted[] => [])
  // What a class was found not to want is for the others: hence twice.
  for (const of of [...queueClasses, ...queueClasses]) {
    if (!waits[of]) continue
    const room = Math.min(batch - admitted[of].length, roomOf(of, standing))
    // Where slots come free by the thousand, one here and there is not worth it; for critical runs it is.
    if (room < (of === 'critical' ? 1 : Math.max(1, roomMin))) continue
    const cap = held.critical + held.standard + held.bulk + room
    const { runs, lines: after } = await divideRoom(pool, { ...plain, owed: owed[of] }, { room, cap, lines: lines[of] })
    admitted[of].push(...runs)
    held[of] += runs.length
    // Where others wait than were told of, there may be more.
    waits[of] = runs.length >= room || after.length >= linesMax
    lines[of] = after
  }
  const { admitted: instead, preempted } = await preemptRuns(
    pool,
    { ...plain, owed: owed.critical },
    lines.critical,
    standing,
  )
  admitted.critical.push(...instead)
  const inOrder = (runs: Admitted[]): Admitted[] => runs.sort((one, other) => one[4] - other[4])
  return {
    critical: inOrder(admitted.critical),
    others: inOrder([...admitted.standard, ...admitted.bulk]),
    preempted,
    criticalWaits: waits.critical,
  }
}

async function readStanding(pool: Pool, poolId: number): Promise<{ lines: PerClass<Line[]>; held: PerClass<number> }> {
  const text = 'select pool_standing($1::smallint, $2)'
  const rows = await runNamed<[Standing | null]>(pool, 'class_standing', text, [poolId, linesMax])
  const { lines = [], tenants = [] } = rows[0]?.[0] ?? {}
  const byClass = linesByClass(lines)
  return {
    lines: perClass((of) => byClass.get(of) ?? []),
    held: perClass((of) =>
      tenants
        .filter(([, , , queueClass]) => queueClasses[queueClass] === of)
        .reduce((sum, [, , used]) => sum + used, 0),
    ),
  }
}
