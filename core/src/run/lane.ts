import { type Ctx, withRead } from '../db/context.ts'
import type { RunFacts } from '../flow/expression.ts'
import { type CarriedLimit, carriedLimits, type Lane, laneOf } from '../flow/lanes.ts'
import { toWireId, type Uuid } from '../kernel/ids.ts'
import type { RunDetails } from './details.ts'

/** What of a run a limit can look at, but for what it says itself. */
interface LimitedRow {
  tenantId: Uuid
  projectId: Uuid
  queueId: Uuid
  queueName: string
  jobId: Uuid | null
  priority: number
  details: Pick<RunDetails, 'tags'> | undefined
  jobTags: readonly string[]
  lane: Lane | null
}

/** A request as expressions see it. */
export interface SeenRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  /** Worked out when an expression asks for it. */
  body(): unknown
}

/** The limits that runs of the caller's organisation may mind beside those of their queues. */
export const limitsOf = (ctx: Ctx): Promise<readonly CarriedLimit[]> =>
  carriedLimits(ctx.tenantId, (work) => withRead(ctx, (tx) => work(tx.client)))

/** The lane of a run under these limits. The request is looked at only where there are any. */
export const laneFor = (limits: readonly CarriedLimit[], row: LimitedRow, request: SeenRequest): Lane | null =>
  limits.length === 0 ? null : laneOf(limits, row, () => factsOf(row, request))

/** Finds the limits that a run minds beside those of its queue. */
export async function takeLane<Row extends LimitedRow>(ctx: Ctx, row: Row, request: SeenRequest): Promise<Row> {
  row.lane = laneFor(await limitsOf(ctx), row, request)
  return row
}

/** What expressions see of a run. */
export function factsOf(
  row: Omit<LimitedRow, 'tenantId' | 'projectId' | 'queueId' | 'lane'>,
  seen: SeenRequest,
): RunFacts {
  const { queueName, jobId, priority, details, jobTags } = row
  let read: { body: unknown } | undefined
  return {
    get body() {
      read ??= { body: seen.body() }
      return read.body
    },
    headers: Object.fromEntries(Object.entries(seen.headers).map(([name, value]) => [name.toLowerCase(), value])),
    tags: [...(details?.tags ?? []), ...jobTags],
    method: seen.method,
    url: seen.url,
    host: new URL(seen.url).host,
    queue: queueName,
    job: jobId === null ? '' : toWireId('job', jobId),
    priority: BigInt(priority),
  }
}
