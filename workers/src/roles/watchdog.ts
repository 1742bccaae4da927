import { releaseHeld } from '@meridian/core/breaker/hold'
import type { Pool } from '@meridian/core/db/client'
import type { Log } from '@meridian/core/kernel/log'
import type { Metrics } from '@meridian/core/kernel/metrics'
import { rescueShard } from '@meridian/core/run/rescue'
import {
  alarmKindNames,
  type InstallationAlarmKind,
  installationAlarmKinds,
  type PromptAlarmKind,
  promptAlarmKinds,
} from '@meridian/core/watch/alarm'
import { lookForAstray, readRound } from '@meridian/core/watch/astray'
import {
  defaultPatience,
  type InstallationFinding,
  lookAtInstallation,
  lookFor,
  type Patience,
} from '@meridian/core/watch/look'
import {
  countAlarms,
  notePass,
  type Settled,
  settleAlarms,
  settleInstallationAlarms,
} from '@meridian/core/watch/settle'
import type { Pass } from '../loop.ts'

export interface WatchdogOptions {
  engine: Pool
  shard: number
  log: Log
  keepDays: number
  patience?: Patience
}

const rescueMax = 1_000

/**
 * Looks for what stands still, says so, and does what heals it where anybody may: leases are released, and what breakers
 * hold is let go, as if their own roles were alive. It needs nothing but the database.
 */
export class Watchdog {
  readonly #options: WatchdogOptions
  /** What the last look at the installation found, open or not. */
  #seen = new Set<string>()

  constructor(options: WatchdogOptions) {
    this.#options = options
  }

  /** One look at everything. */
  async runOnce(): Promise<Pass> {
    const { engine, shard, log, keepDays, patience = defaultPatience } = this.#options
    let failure: unknown
    // One look that fails must not make it blind for the others.
    const settle = async (kind: string, work: () => Promise<Settled>): Promise<void> => {
      try {
        const { raised, cleared } = await work()
        if (raised > 0) log.error({ alarm: kind, raised }, 'something stands still')
        if (cleared > 0) log.info({ alarm: kind, cleared }, 'what stood still moves again')
      } catch (error) {
        failure ??= error
        log.error({ err: error, alarm: kind }, 'the watchdog could not look')
      }
    }
    for (const kind of promptAlarmKinds) {
      await settle(kind, async () => {
        const found = await lookFor(engine, kind, { shard, patience })
        const settled = await settleAlarms(engine, kind, found)
        if (found.length > 0) await this.#heal(kind)
        return settled
      })
    }
    const since = await readRound(engine, shard)
    let reached = since
    await settle('schedule-astray', async () => {
      const look = await lookForAstray(engine, { shard, since })
      reached = look.reached
      return settleAlarms(engine, 'schedule-astray', look.findings, look.looked)
    })
    const seen = new Set<string>()
    for (const kind of installationAlarmKinds) {
      await settle(kind, async () => {
        const found = await lookAtInstallation(engine, kind, { shard, patience })
        return settleInstallationAlarms(engine, kind, this.#confirmed(kind, found, seen))
      })
    }
    this.#seen = seen
    if (failure !== undefined) throw failure
    await notePass(engine, shard, { keepDays, seen: reached })
    return 'idle'
  }

  /** What was found the last time, too. An old run may have become free to go this very moment. */
  #confirmed(kind: InstallationAlarmKind, found: InstallationFinding[], seen: Set<string>): InstallationFinding[] {
    return found.filter(({ name }) => {
      const key = `${kind} ${name}`
      seen.add(key)
      return this.#seen.has(key)
    })
  }

  async #heal(kind: PromptAlarmKind): Promise<void> {
    const { engine, shard, log } = this.#options
    if (kind === 'lease-stuck') {
      log.warn({ ...(await rescueShard(engine, shard, rescueMax)) }, 'leases were released')
    }
    if (kind === 'breaker-stuck') await releaseHeld(engine)
  }
}

/** How many alarms are open, and that somebody looks; looked up when asked. */
export function observeAlarms({ meter }: Metrics, engine: Pool): () => void {
  const alarms = meter.createObservableGauge('meridian_alarms', { description: 'Alarms that are open, by kind' })
  const observe = async (result: { observe(value: number, labels: Record<string, string>): void }): Promise<void> => {
    const counts = await countAlarms(engine).catch(() => null)
    if (counts === null) return
    for (const kind of [...alarmKindNames, ...installationAlarmKinds]) result.observe(counts.get(kind) ?? 0, { kind })
  }
  alarms.addCallback(observe)
  return () => alarms.removeCallback(observe)
}
