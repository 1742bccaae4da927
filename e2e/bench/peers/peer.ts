import { spawnSync } from 'node:child_process'

/** What a peer library must be able to do to be measured. Each is a program of its own (see `serve.ts`). */
export interface Peer {
  /** Makes its tables or keys and leaves them empty; whatever still works stops first. */
  reset(): Promise<void>
  /** Stores `count` calls to `url` that are due now, as fast as it can; nothing runs yet. */
  load(count: number, url: string): Promise<void>
  /** Works off what was loaded. Calls `onWarm` when a tenth is done, returns when the last call was answered. */
  drain(count: number, onWarm: () => void): Promise<void>
  /** Stores calls for `seconds` with its best batch size and concurrency; returns how many. */
  create(seconds: number, url: string): Promise<number>
  /** Starts its workers, set for the smallest lateness. */
  work(): Promise<void>
  /** Stores one call to `url` for each instant, telling the target that instant in a header. */
  schedule(dueAtMs: readonly number[], url: string): Promise<void>
}

/** The names of the programs in this folder, as the tables show them. */
export const peerNames = ['graphile-worker', 'pg-boss', 'bullmq', 'river'] as const
export type PeerName = (typeof peerNames)[number]

/** Why a peer can't take part on this machine, or nothing. */
export const whyAway = (name: PeerName): string | undefined =>
  name === 'river' && spawnSync('go', ['version']).status !== 0 ? 'there is no Go here to build it' : undefined

/** Runs `work` on every batch of indices below `count`, four batches in flight. */
export async function inBatches(
  count: number,
  batchSize: number,
  work: (start: number, size: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (next < count) {
        const start = next
        const size = Math.min(batchSize, count - start)
        next += size
        await work(start, size)
      }
    }),
  )
}

/** Stores batches for `seconds`, four in flight, and returns how many items that were. */
export async function createFor(
  seconds: number,
  batchSize: number,
  store: (start: number, size: number) => Promise<unknown>,
): Promise<number> {
  const deadline = performance.now() + seconds * 1_000
  let stored = 0
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (performance.now() < deadline) {
        await store(stored, batchSize)
        stored += batchSize
      }
    }),
  )
  return stored
}

/** Reads a setting that the harness hands to every peer program. */
export function setting(name: 'DATABASE_URL' | 'REDIS_URL'): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}
