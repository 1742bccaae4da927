import { type Pool, runNamed, textArrayLiteral } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { askAgain, type Lease, leaseColumns } from '../run/claim.ts'

/** What becomes of a run that was about to call a host: it goes, it goes as the probe, it is held, or it is not ours. */
export type HoldVerdict = 'goes' | 'probes' | 'held' | 'lost'

const verdicts: readonly HoldVerdict[] = ['goes', 'held', 'lost', 'probes']

/**
 * Asks for runs that are claimed and not begun whether they may call their hosts. Those that may not wait again, held:
 * running -> ready, and the attempt that never started is not counted. Answers in the order of the runs.
 */
export async function holdRuns(
  engine: Pool,
  poolId: number,
  runs: readonly { lease: Lease; host: string }[],
): Promise<HoldVerdict[]> {
  const known = new Map<Uuid, HoldVerdict>()
  await askAgain(
    [...runs],
    ({ lease }) => lease.id,
    async (asked) => {
      const rows = await runNamed<[number, number]>(
        engine,
        'hold_runs',
        'select * from hold_runs($1::smallint, $2, $3, $4, $5, $6)',
        [poolId, ...leaseColumns(asked.map(({ lease }) => lease)), textArrayLiteral(asked.map(({ host }) => host))],
      )
      return rows.flatMap(([ordinal, code]) => {
        const verdict = verdicts[code]
        const run = asked[ordinal - 1]
        if (run === undefined || verdict === undefined || verdict === 'lost') return []
        known.set(run.lease.id, verdict)
        return [run.lease.id]
      })
    },
  )
  return runs.map(({ lease }) => known.get(lease.id) ?? 'lost')
}

/** Runs a second that are let go when a host is back; twice as many each second. */
const firstPace = 20
const batchMax = 5_000

/**
 * Lets go what breakers hold and may go now: probes, and in their order the runs of hosts that are back. Any number of
 * callers may do this at once. Returns the pools whose dispatchers have something to do.
 */
export async function releaseHeld(engine: Pool): Promise<number[]> {
  const rows = await runNamed<[number, number]>(engine, 'release_held', 'select * from release_held($1, $2)', [
    firstPace,
    batchMax,
  ])
  return [...new Set(rows.map(([pool]) => pool))]
}

/** Breakers that were closed so long ago are forgotten. */
export async function forgetBreakers(engine: Pool, days: number): Promise<void> {
  await runNamed(
    engine,
    'forget_breakers',
    "delete from breakers where closed_at < clock_timestamp() - $1 * interval '1 day'",
    [days],
  )
}
