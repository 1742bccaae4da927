import type { Pool } from '@meridian/core/db/client'
import { sampleShares } from '@meridian/core/flow/sample-shares'
import type { Metrics } from '@meridian/core/kernel/metrics'
import type { Pass } from '../loop.ts'

/** How often shares are looked at. */
export const sampleMs = 2_000

/** Looks at who has what of a pool, beside those who divide it: one sample a pass. */
export class Sampler {
  readonly #engine: Pool
  readonly #poolId: number
  #jain: number | null = null

  constructor(engine: Pool, poolId: number) {
    this.#engine = engine
    this.#poolId = poolId
  }

  async runOnce(): Promise<Pass> {
    this.#jain = (await sampleShares(this.#engine, this.#poolId)) ?? this.#jain
    return 'idle'
  }

  /** Tells the metrics how even shares were. */
  observe({ meter }: Metrics): () => void {
    const gauge = meter.createObservableGauge('meridian_fairness_index', {
      description: 'How even the shares of tenants were in the last minute with something to share; 1 is even',
    })
    const observe = (result: { observe(value: number, labels: Record<string, string>): void }): void => {
      if (this.#jain !== null) result.observe(this.#jain, { pool: String(this.#poolId) })
    }
    gauge.addCallback(observe)
    return () => gauge.removeCallback(observe)
  }
}
