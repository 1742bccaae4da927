import type { Clock } from '@meridian/core/kernel/clock'
import type { IntakeResult, IntakeRow } from '@meridian/core/run/accept'
import type { Cancelled } from '@meridian/core/run/cancel'
import { cancelChannel, lookAheadMs, slotsFreed, wakeChannel } from '@meridian/core/run/wake'
import type { Redis } from 'ioredis'

/** Tells workers through Redis to look at once. Best effort: they find everything by themselves, only later. */
export interface Wake {
  /** Runs that were accepted and are due soon. */
  forRuns(rows: readonly IntakeRow[], results: readonly IntakeResult[]): void
  /** A run that was cancelled: its executor should stop, and its slot is free. */
  forCancel(cancelled: Cancelled): void
  /** A queue that gives out runs again. */
  forQueue(pool: number): void
}

export function createWake({ redis, clock }: { redis: Redis; clock: Clock }): Wake {
  const publish = (channel: string, message: string): void => {
    if (redis.status !== 'ready') return
    redis.publish(channel, message).catch(() => undefined)
  }
  return {
    forRuns(rows, results) {
      const soonMs = clock.nowMs() + lookAheadMs
      const earliest = new Map<number, number>()
      results.forEach((result, index) => {
        const row = rows[index]
        if (row === undefined || result.outcome !== 'accepted' || result.dueAtMs > soonMs) return
        earliest.set(row.pool, Math.min(result.dueAtMs, earliest.get(row.pool) ?? result.dueAtMs))
      })
      for (const [pool, dueAtMs] of earliest) publish(wakeChannel(pool), String(dueAtMs))
    },
    forCancel({ interrupt }) {
      if (interrupt === null) return
      publish(cancelChannel(interrupt.pool), `${interrupt.runId} ${interrupt.fence}`)
      publish(wakeChannel(interrupt.pool), String(slotsFreed))
    },
    forQueue: (pool) => publish(wakeChannel(pool), String(slotsFreed)),
  }
}
