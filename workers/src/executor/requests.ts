import type { Pool } from '@meridian/core/db/client'
import type { Uuid } from '@meridian/core/kernel/ids'
import { type Claimed, type RequestBlock, readBlock } from '@meridian/core/run/claim'
import { readBatch } from '@meridian/core/run/read-batch'
import { decodeRequest, type RunRequest } from '@meridian/core/run/request-codec'
import { itemAt, openBlock, openBlockNow } from '@meridian/core/secret/block'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import { LRUCache } from 'lru-cache'
import { ByteBudget } from './byte-budget.ts'
import { Targets } from './targets.ts'

export type OpenedRequest = RunRequest & { body: Buffer | null }

/** What the bodies of large requests may hold together, sealed; opened they hold as much again. */
const largeBytes = 64 * 1024 * 1024

/** A claim that takes so many runs of a block takes about all of them: nobody asks for that block again. */
const runsOfOneClaim = 8

/** Opens what a run has to do: its own sealed request, or that of its job's version. */
export class Requests {
  readonly #engine: Pool
  readonly #keyRing: KeyRing
  readonly #targets: Targets

  // Runs that were accepted together share a block. It is opened once a claim, and kept for others that take few runs.
  readonly #opened = new WeakMap<RequestBlock, Buffer>()
  readonly #blocks = new LRUCache<Uuid, Buffer>({
    ttl: 60_000,
    maxSize: 32 * 1024 * 1024,
    // Small ones take much more than their bytes.
    sizeCalculation: (opened) => 2_048 + opened.length,
  })
  readonly #large = new ByteBudget(largeBytes)

  constructor(engine: Pool, keyRing: KeyRing) {
    this.#engine = engine
    this.#keyRing = keyRing
    this.#targets = new Targets(engine, keyRing)
  }

  /** Reads what runs will have to do that were claimed together, as far as that saves questions. */
  readAhead(runs: readonly Claimed[]): void {
    this.#targets.readAhead(runs)
  }

  /** Waits until there is memory for the run's request. Call what it resolves to when the attempt is over. */
  reserve({ request }: Claimed): Promise<() => void> | null {
    return request === null || request.block.sealed !== null ? null : this.#large.take(request.block.bytes)
  }

  /** The request when everything it takes is in memory, else null. */
  openNow(run: Claimed): OpenedRequest | null {
    if (run.request === null) return this.#targets.get(run)
    if (run.source === 'batch') return null
    const { block, offset } = run.request
    const opened = this.#opened.get(block) ?? this.#blocks.get(block.id) ?? this.#openNow(run.tenantId, block)
    return opened && decodeRequest(itemAt(opened, offset))
  }

  #openNow(tenantId: Uuid, block: RequestBlock): Buffer | null {
    const { id, sealed, runs } = block
    if (sealed === null) return null
    const opened = openBlockNow(this.#keyRing, { tenantId, id, sealed: Buffer.from(sealed, 'base64') })
    if (opened === null) return null
    this.#opened.set(block, opened)
    if (runs < runsOfOneClaim) this.#blocks.set(id, apart(opened))
    return opened
  }

  /** The request, from wherever it takes. Throws when it is gone or its key was destroyed. */
  async open(run: Claimed): Promise<OpenedRequest> {
    if (run.request !== null) {
      const { block, offset } = run.request
      const sealed = await readBlock(this.#engine, run, block)
      const request = decodeRequest(
        itemAt(await openBlock(this.#keyRing, { tenantId: run.tenantId, id: block.id, sealed }), offset),
      )
      return run.source === 'batch' ? this.#together(run, request) : request
    }
    return this.#targets.open(run)
  }

  /** What the first of them asks for, with the bodies of all that are still open. */
  async #together({ tenantId, id }: Claimed, first: OpenedRequest): Promise<OpenedRequest> {
    const items = await readBatch(this.#engine, this.#keyRing, { tenantId, id, waiting: true })
    if (items.length === 0) throw new Error('all runs of the batch have ended')
    return { ...first, body: Buffer.from(JSON.stringify(items)) }
  }
}

/** The same bytes by themselves: what was inflated keeps the whole chunk alive that it was written into. */
function apart(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return own
}
