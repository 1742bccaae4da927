import { LRUCache } from 'lru-cache'
import { runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { decodeRequest } from '../run/request-codec.ts'
import type { PlannedJob } from './plan.ts'

// A version of a job never changes.
const hosts = new LRUCache<string, string>({ max: 200_000 })
const chunk = 500
/** A target this large is not opened for its host. */
const openedMaxBytes = 100_000

const keyOf = ({ id, version }: Pick<PlannedJob, 'id' | 'version'>): string => `${id}.${version}`

/** The host that each job calls, by the job's id. */
export async function hostsOf(ctx: Ctx, jobs: readonly PlannedJob[]): Promise<Map<Uuid, string>> {
  const unknown = jobs.filter((job) => !hosts.has(keyOf(job)))
  if (unknown.length > 0) await ctx.keyRing.load(ctx.tenantId)
  for (let start = 0; start < unknown.length; start += chunk) {
    const some = unknown.slice(start, start + chunk)
    const rows = await withRead(ctx, (tx) =>
      runNamed<[Uuid, number, Buffer]>(
        tx.client,
        'targets_of_versions',
        `select v.job_id, v.version, v.target from unnest($2::uuid[], $3::int[]) w(id, version)
         join job_versions v on v.tenant_id = $1 and v.job_id = w.id and v.version = w.version
         where octet_length(v.target) <= ${openedMaxBytes}`,
        [tx.tenantId, some.map(({ id }) => id), some.map(({ version }) => version)],
      ),
    )
    for (const [id, version, sealed] of rows) {
      const request = decodeRequest(await ctx.keyRing.open(ctx.tenantId, id, sealed))
      hosts.set(keyOf({ id, version }), new URL(request.url).host)
    }
  }
  return new Map(
    jobs.flatMap((job) => {
      const host = hosts.get(keyOf(job))
      return host === undefined ? [] : [[job.id, host]]
    }),
  )
}
