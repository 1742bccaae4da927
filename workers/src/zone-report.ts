/**
 * `DATABASE_URL=… node workers/src/zone-report.ts <folder> [--days 366] [--shard 1]`: which schedules move when the compiled
 * zone files of that folder (`zic -d folder`) take the place of the time zone data of this Node. One JSON object a line,
 * then a count on standard error. Changes nothing.
 */
import { parseArgs } from 'node:util'
import { createPool } from '@meridian/core/db/client'
import { systemClock } from '@meridian/core/kernel/clock'
import { toWireId } from '@meridian/core/kernel/ids'
import { reportZones } from '@meridian/core/run/zone-report'
import { nativeZones } from '@meridian/core/schedule/zone'
import { versionOf, zoneFiles } from '@meridian/core/schedule/zone-files'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { days: { type: 'string', default: '366' }, shard: { type: 'string', default: '1' } },
})
const [folder] = positionals
const url = process.env.DATABASE_URL
if (folder === undefined || url === undefined) {
  process.stderr.write('usage: DATABASE_URL=… node workers/src/zone-report.ts <folder> [--days 366] [--shard 1]\n')
  process.exit(2)
}
const next = zoneFiles(folder, versionOf(folder) ?? folder)
if (next.find('Europe/London') === undefined) {
  process.stderr.write(`${folder} holds no compiled zone files\n`)
  process.exit(2)
}
const pool = createPool({ url, max: 1, applicationName: 'meridian-zone-report' })
let count = 0
const range = { fromMs: systemClock.nowMs(), days: Number(values.days) }
for await (const { tenantId, projectId, jobId, jobName, timezone, moved, problem } of reportZones(pool, {
  shard: Number(values.shard),
  next,
  ...range,
})) {
  count += 1
  const ids = {
    tenantId: toWireId('ten', tenantId),
    projectId: toWireId('prj', projectId),
    jobId: toWireId('job', jobId),
  }
  const change = moved && {
    removed: moved.removed,
    added: moved.added,
    first: new Date(moved.firstMs).toISOString(),
    before: moved.beforeMs.map((at) => new Date(at).toISOString()),
    after: moved.afterMs.map((at) => new Date(at).toISOString()),
  }
  process.stdout.write(`${JSON.stringify({ ...ids, jobName, timezone, ...change, ...(problem && { problem }) })}\n`)
}
await pool.end()
process.stderr.write(`${nativeZones.version} -> ${next.version}: ${count} schedules move within ${values.days} days\n`)
