import type { Clock } from '@meridian/core/kernel/clock'
import type { IntakeResult } from '@meridian/core/run/accept'
import type { Cancelled } from '@meridian/core/run/cancel'
import type { IntakeRow } from '@meridian/core/run/prepare'
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

/** Runs due later than this can wait a moment for their wake-up, and share it. */
const urgentMs = 200
const togetherMs = 25

export function createWake({ redis, clock }: { redis: Redis; clock: Clock }): Wake {
  const publish = (channel: string, message: string): void => {
    if (redis.status !== 'ready') return
    redis.publish(channel, message).catch(() => undefined)
  }
  /** The earliest due instant of each pool that its dispatcher has not been told. */
  const untold = new Map<number, number>()
  let timer: NodeJS.Timeout | undefined
  const tell = (): void => {
    clearTimeout(timer)
    timer = undefined
    for (const [pool, dueAtMs] of untold) publish(wakeChannel(pool), String(dueAtMs))
    untold.clear()
  }
  return {
    forRuns(rows, results) {
      const nowMs = clock.nowMs()
      let isUrgent = false
      results.forEach((result, index) => {
        const row = rows[index]
        if (row === undefined || (result.outcome !== 'accepted' && result.outcome !== 'collected')) return
        if (result.dueAtMs > nowMs + lookAheadMs) return
        untold.set(row.pool, Math.min(result.dueAtMs, untold.get(row.pool) ?? result.dueAtMs))
        isUrgent ||= result.dueAtMs < nowMs + urgentMs
      })
      if (isUrgent) tell()
      else if (untold.size > 0) timer ??= setTimeout(tell, togetherMs).unref()
    },
    forCancel({ interrupt }) {
      if (interrupt === null) return
      publish(cancelChannel(interrupt.pool), `${interrupt.runId} ${interrupt.fence}`)
      publish(wakeChannel(interrupt.pool), String(slotsFreed))
    },
    forQueue: (pool) => publish(wakeChannel(pool), String(slotsFreed)),
  }
}
