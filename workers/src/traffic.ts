import type { Uuid } from '@meridian/core/kernel/ids'
import type { Admitted } from '@meridian/core/run/admit'

/** After this time half of what was sent counts no more: about as long as a full road takes. */
const halfLifeMs = 500
/** With fewer runs on the way nobody stands behind anybody for long. */
const quietBelow = 200

/**
 * Who has how much on the way. Slots are shared when runs are admitted, but on the way they stand in one line: where some
 * tenants have filled the road, those that have less than half of an even share go past them.
 */
export class Traffic {
  readonly #recent = new Map<Uuid, number>()
  #total = 0
  #atMs = Number.NEGATIVE_INFINITY

  /** Parts what goes on its way now into what stands in line and what goes past. Both keep their order. */
  part(admitted: Admitted[], nowMs: number): { road: Admitted[]; express: Admitted[] } {
    this.#fade(nowMs)
    for (const [tenantId] of admitted) this.#recent.set(tenantId, (this.#recent.get(tenantId) ?? 0) + 1)
    this.#total += admitted.length
    if (this.#recent.size < 2 || this.#total < quietBelow) return { road: admitted, express: [] }
    const little = this.#total / this.#recent.size / 2
    const road: Admitted[] = []
    const express: Admitted[] = []
    for (const run of admitted) ((this.#recent.get(run[0]) ?? 0) <= little ? express : road).push(run)
    return { road, express }
  }

  #fade(nowMs: number): void {
    const left = 0.5 ** ((nowMs - this.#atMs) / halfLifeMs)
    this.#atMs = nowMs
    this.#total = 0
    for (const [tenantId, count] of this.#recent) {
      const now = count * left
      if (now < 0.5) this.#recent.delete(tenantId)
      else {
        this.#recent.set(tenantId, now)
        this.#total += now
      }
    }
  }
}
