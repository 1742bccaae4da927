/**
 * `ENGINE_DATABASE_URL=… KEY_FILE=… node workers/src/forecast.ts [--hours 24] [--shard 1] [--series]`: for operators. The load
 * that comes by organisation, one JSON object a line, those with the most starts in a minute first: what starts and what goes
 * on at once, with the busiest time of each, against what it may have. Minutes for up to a day, hours beyond that; with
 * `--series` every one of them. Changes nothing.
 */
import { parseArgs } from 'node:util'
import { createPool } from '@meridian/core/db/client'
import { forecastTenants, type TenantLoad } from '@meridian/core/forecast/tenants'
import { systemClock } from '@meridian/core/kernel/clock'
import { toWireId } from '@meridian/core/kernel/ids'
import { localFileKeyProvider } from '@meridian/core/secret/key-provider'
import { KeyRing } from '@meridian/core/secret/key-ring'

const { values } = parseArgs({
  options: {
    hours: { type: 'string', default: '24' },
    shard: { type: 'string', default: '1' },
    series: { type: 'boolean', default: false },
  },
})
const hours = Number(values.hours)
const { ENGINE_DATABASE_URL: url, KEY_FILE: keyFile } = process.env
if (url === undefined || keyFile === undefined || !(hours >= 1 && hours <= 31 * 24)) {
  process.stderr.write(
    'usage: ENGINE_DATABASE_URL=… KEY_FILE=… node workers/src/forecast.ts [--hours 1..744] [--shard 1] [--series]\n',
  )
  process.exit(2)
}
const bucketMs = hours <= 24 ? 60_000 : 3_600_000
const fromMs = Math.floor(systemClock.nowMs() / 60_000) * 60_000
const range = { shard: Number(values.shard), fromMs, bucketMs, size: Math.ceil((hours * 3_600_000) / bucketMs) }
const instantOf = (slice: number): string => new Date(fromMs + slice * bucketMs).toISOString()

function busiest(counts: readonly number[]): { at: string; count: number } {
  const count = Math.max(...counts)
  return { at: instantOf(counts.indexOf(count)), count: Math.round(count * 100) / 100 }
}

const lineOf = ({ tenantId, slug, capacity, starts, running, ...counts }: TenantLoad) => ({
  tenantId: toWireId('ten', tenantId),
  tenant: slug,
  ...counts,
  capacity,
  starts: starts.reduce((sum, count) => sum + count, 0),
  mostStarts: busiest(starts),
  mostRunning: busiest(running),
  ...(values.series ? { from: instantOf(0), sliceSeconds: bucketMs / 1_000, series: { starts, running } } : {}),
})

const engine = createPool({ url, max: 1, applicationName: 'meridian-forecast' })
try {
  const loads = forecastTenants(engine, new KeyRing(engine, await localFileKeyProvider(keyFile)), range)
  const lines = (await Array.fromAsync(loads)).map(lineOf)
  lines.sort((one, other) => other.mostStarts.count - one.mostStarts.count || (one.tenant < other.tenant ? -1 : 1))
  for (const line of lines) process.stdout.write(`${JSON.stringify(line)}\n`)
} finally {
  await engine.end()
}
