import type { Ctx } from '../../src/db/context.ts'
import { type Uuid, uuidv7 } from '../../src/kernel/ids.ts'
import { type AcceptMeans, acceptRuns } from '../../src/run/accept.ts'
import { type AdmitOptions, type Admitted, admitRuns } from '../../src/run/admit.ts'
import { type Claimed, claimRuns } from '../../src/run/claim.ts'
import { type NewRun, prepareRun } from '../../src/run/prepare.ts'
import { type EndRecord, type RecordMeans, type RetryRecord, recordEnds, recordRetries } from '../../src/run/record.ts'
import type { Run } from '../../src/run/run.ts'
import { httpTargetValue } from '../../src/run/target.ts'
import { createTenant, type TestTenant, testCtx } from '../../src/testing/factories.ts'
import { createTestDb, type TestDb } from '../../src/testing/test-db.ts'

export const target = httpTargetValue.parse({ type: 'http', url: 'https://hooks.example.com/in', body: { a: 1 } })
export const executorId = uuidv7(Date.now())

export type Change = Partial<NewRun>

/** The walk of a run, step by step, each by the function that the product uses. */
export interface Stage {
  db: TestDb
  tenant: TestTenant
  ctx: Ctx
  /** What accepting takes. */
  intake: AcceptMeans
  /** What recording takes. */
  means: RecordMeans
  /** Accepts one run a change, in one flush. */
  accept(...changes: Change[]): Promise<Run[]>
  acceptAs(ctx: Ctx, ...changes: Change[]): Promise<Run[]>
  admit(options?: Partial<Omit<AdmitOptions, 'pool'>>): Promise<Admitted[]>
  claim(admitted: Admitted[]): Promise<Claimed[]>
  /** Accepts, admits and claims `count` runs. */
  running(count: number, change?: Change): Promise<Claimed[]>
  end(claimed: Claimed[], status?: 'succeeded' | 'failed'): Promise<Set<Uuid>>
  retry(claimed: Claimed[], delayMs?: number): Promise<Set<Uuid>>
  /** The tables that hold the run: `due`, `ready`, `queued`, `running`, or the end it came to. */
  whereIs(id: Uuid): Promise<string[]>
  eventsOf(id: Uuid): Promise<string[]>
  /** Makes what is held look as if its time were over. */
  expireLeases(): Promise<void>
  /** One value of one row, as the owner of the database sees it. */
  value<T>(text: string, ...values: unknown[]): Promise<T>
}

const attemptOf = (lease: Claimed) => ({
  lease,
  executorId,
  startedAtMs: Date.now(),
  durationMs: 5,
  httpStatus: 200,
  response: null,
  responseObject: null,
})

export const endOf = (lease: Claimed, status: 'succeeded' | 'failed' = 'succeeded'): EndRecord => ({
  ...attemptOf(lease),
  status,
  error: status === 'succeeded' ? null : 'http-status',
})

export const retryOf = (lease: Claimed, delayMs = 0): RetryRecord => ({
  ...attemptOf(lease),
  httpStatus: 503,
  error: 'http-status',
  projectId: lease.projectId,
  delayMs,
})

const places = `
  select 'due' as place from due where id = $1 union all select 'ready' from ready where id = $1
  union all select case state when 2 then 'queued' else 'running' end from held where id = $1
  union all select case state when 4 then 'succeeded' when 5 then 'failed' when 6 then 'cancelled' when 7 then 'expired' else 'skipped' end
    from runs where id = $1`

/** A database and a tenant of one's own. */
export async function createStage(postgresUrl: string): Promise<Stage> {
  const db = await createTestDb(postgresUrl)
  const tenant = await createTenant(db)
  const ctx = testCtx(db, tenant)
  const means: RecordMeans = { engine: db.engine, keyRing: db.keyRing, poolId: 1 }
  const value = async <T>(text: string, ...values: unknown[]): Promise<T> =>
    (await db.owner.query<{ value: T }>({ text, values })).rows[0]?.value as T
  const stage: Stage = {
    db,
    tenant,
    ctx,
    means,
    intake: { pool: db.app, keyRing: db.keyRing },
    value,
    accept: (...changes) => stage.acceptAs(stage.ctx, ...changes),
    async acceptAs(as, ...changes) {
      const rows = await Promise.all(changes.map((change) => prepareRun(as, { target, ...change })))
      const results = await acceptRuns(stage.intake, rows, false)
      return results.map((result) => {
        if (result.outcome === 'refused') throw result.error
        return result.run
      })
    },
    admit: (options = {}) =>
      admitRuns(db.engine, { pool: 1, batch: 1_000, capacity: 10_000, aheadMs: 25, queuedSeconds: 5, ...options }),
    claim: async (admitted) => (await claimRuns(db.engine, 1, executorId, admitted)).runs,
    async running(count, change = {}) {
      const ids = new Set((await stage.accept(...Array.from({ length: count }, () => change))).map((run) => run.id))
      const claimed = await stage.claim(await stage.admit())
      return claimed.filter((run) => ids.has(run.id))
    },
    end: (claimed, status) =>
      recordEnds(
        means,
        claimed.map((lease) => endOf(lease, status)),
      ),
    retry: (claimed, delayMs) =>
      recordRetries(
        means,
        claimed.map((lease) => retryOf(lease, delayMs)),
      ),
    whereIs: async (id) => (await db.owner.query<{ place: string }>(places, [id])).rows.map((row) => row.place),
    eventsOf: async (id) =>
      (
        await db.owner.query<{ type: string }>('select type from events where subject = $1 order by xid, seq', [id])
      ).rows.map((row) => row.type),
    expireLeases: async () =>
      void (await db.owner.query("update held set lease_until = clock_timestamp() - interval '1 second'")),
  }
  return stage
}
