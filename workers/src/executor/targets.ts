import { arrayLiteral, type Pool, runNamed } from '@meridian/core/db/client'
import type { Claimed } from '@meridian/core/run/claim'
import { decodeRequest } from '@meridian/core/run/request-codec'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import { LRUCache } from 'lru-cache'
import type { OpenedRequest } from './requests.ts'

/** A claim takes a thousand runs: larger targets are read one by one, or they would fill any memory. */
const togetherBytesMax = 65_536

/** What versions of jobs ask for: read and opened once, then kept in memory for a while. */
export class Targets {
  readonly #engine: Pool
  readonly #keyRing: KeyRing
  // A version never changes, so its target is opened once; again each minute, so that a destroyed key is one. Bounded
  // by bytes: a body may be large.
  readonly #opened = new LRUCache<string, OpenedRequest>({
    ttl: 60_000,
    maxSize: 64 * 1024 * 1024,
    sizeCalculation: (request) => 1_024 + (request.body?.length ?? 0),
  })
  readonly #reading = new Map<string, Promise<void>>()

  constructor(engine: Pool, keyRing: KeyRing) {
    this.#engine = engine
    this.#keyRing = keyRing
  }

  /** The target of the run's version when it is in memory. */
  get(run: Claimed): OpenedRequest | null {
    return this.#opened.get(versionKey(run)) ?? null
  }

  /**
   * Brings those of runs that were claimed together into memory by one question, while they wait for their instants. What
   * fails here is asked for again by the run itself.
   */
  readAhead(runs: readonly Claimed[]): void {
    const asked = new Map<string, Claimed>()
    for (const run of runs) {
      if (run.request !== null) continue
      const key = versionKey(run)
      if (!this.#opened.has(key) && !this.#reading.has(key)) asked.set(key, run)
    }
    if (asked.size === 0) return
    const reading = this.#readTogether([...asked.values()]).finally(() => {
      for (const key of asked.keys()) this.#reading.delete(key)
    })
    for (const key of asked.keys()) this.#reading.set(key, reading)
  }

  /** The target of the run's version, from wherever it takes. Throws when it is gone or its key was destroyed. */
  async open(run: Claimed): Promise<OpenedRequest> {
    await this.#reading.get(versionKey(run))
    const known = this.get(run)
    if (known !== null) return known
    const [row] = await this.#rows([run], null)
    if (row === undefined) throw new Error('the version of the job is gone')
    return this.#open(run, row[1])
  }

  async #readTogether(runs: readonly Claimed[]): Promise<void> {
    const rows = await this.#rows(runs, togetherBytesMax).catch(() => [])
    for (const [ordinal, sealed] of rows) {
      const run = runs[ordinal - 1]
      if (run !== undefined) await this.#open(run, sealed).catch(() => undefined)
    }
  }

  #rows(runs: readonly Claimed[], bytesMax: number | null): Promise<[number, Buffer][]> {
    return runNamed(
      this.#engine,
      'job_targets',
      `select u.o::int, j.target from unnest($1::uuid[], $2::uuid[], $3::int[]) with ordinality u(t, j, v, o)
       cross join lateral (
         select v.target from job_versions v where v.tenant_id = u.t and v.job_id = u.j and v.version = u.v
           and ($4::int is null or octet_length(v.target) <= $4) offset 0) j`,
      [
        arrayLiteral(runs.map(({ tenantId }) => tenantId)),
        arrayLiteral(runs.map(({ jobId }) => jobId)),
        arrayLiteral(runs.map(({ jobVersion }) => jobVersion)),
        bytesMax,
      ],
    )
  }

  async #open(run: Claimed, sealed: Buffer): Promise<OpenedRequest> {
    const { tenantId, jobId } = run
    if (jobId === null) throw new Error('the run has no job')
    const plain = this.#keyRing.openSync(tenantId, jobId, sealed) ?? (await this.#keyRing.open(tenantId, jobId, sealed))
    const target = decodeRequest(plain)
    this.#opened.set(versionKey(run), target)
    return target
  }
}

const versionKey = ({ jobId, jobVersion }: Claimed): string => `${jobId}.${jobVersion}`
