import { afterEach, expect, test } from 'vitest'
import { createMetrics, type Metrics, secondsBuckets } from './metrics.ts'

let metrics: Metrics
afterEach(() => metrics.close())

test('what was measured is rendered as Prometheus text under the names it was given', async () => {
  metrics = createMetrics('workers')
  const runs = metrics.meter.createCounter('meridian_runs_total', { description: 'Runs that ended' })
  const lateness = metrics.meter.createHistogram('meridian_lateness_seconds', {
    advice: { explicitBucketBoundaries: secondsBuckets },
  })
  metrics.meter
    .createObservableGauge('meridian_ready')
    .addCallback(async (result) => result.observe(7, { pool: 'standard' }))
  runs.add(2, { status: 'succeeded' })
  runs.add(1, { status: 'succeeded' })
  lateness.record(0.003)
  const { contentType, body } = await metrics.renderMetrics()
  expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/)
  expect(body).toContain('meridian_runs_total{status="succeeded"} 3\n')
  expect(body).toContain('meridian_lateness_seconds_bucket{le="0.0025"} 0\n')
  expect(body).toContain('meridian_lateness_seconds_bucket{le="0.005"} 1\n')
  expect(body).toContain('meridian_ready{pool="standard"} 7\n')
  expect(body).toMatch(/process_resident_memory_bytes\{service="workers"\} \d{7,}\n/)
  expect(body).toMatch(/nodejs_heap_used_bytes\{service="workers"\} \d{6,}\n/)
})

test('a label that is not from a closed set can not grow the metrics without end', async () => {
  metrics = createMetrics('workers')
  const runs = metrics.meter.createCounter('meridian_runs_total')
  for (let index = 0; index < 5_000; index++) runs.add(1, { run: `run_${index}` })
  const { body } = await metrics.renderMetrics()
  expect(body.match(/^meridian_runs_total/gm)?.length).toBeLessThanOrEqual(2_000)
  expect(body).toContain('otel_metric_overflow="true"')
})
