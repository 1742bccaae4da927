import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Meter } from '@opentelemetry/api'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'

export interface Metrics {
  /** Makes instruments. Name them as Prometheus shows them (`meridian_runs_total`), with base units: seconds, bytes. */
  readonly meter: Meter
  /** What `/metrics` answers: the Prometheus text format. */
  renderMetrics(): Promise<{ contentType: string; body: string }>
  close(): Promise<void>
}

/** Upper bounds in seconds for how late or how long something is, from half a millisecond to a quarter of an hour. */
export const secondsBuckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900,
]

/**
 * The metrics of one process. Label values must come from a closed set: 2,000 series an instrument is the limit,
 * what comes after is counted under `otel_metric_overflow`. On a hot path hand in label objects made once.
 */
export function createMetrics(service: string): Metrics {
  const reader = new PrometheusExporter({ preventServerStart: true })
  const serializer = new PrometheusSerializer('', false, undefined, true, true)
  const provider = new MeterProvider({ readers: [reader] })
  const meter = provider.getMeter('meridian')
  const stopRuntime = observeRuntime(meter, service)
  return {
    meter,
    async renderMetrics() {
      const { resourceMetrics } = await reader.collect()
      return {
        contentType: 'text/plain; version=0.0.4; charset=utf-8',
        body: `${serializer.serialize(resourceMetrics)}\n`,
      }
    },
    async close() {
      stopRuntime()
      await provider.shutdown()
    },
  }
}

function observeRuntime(meter: Meter, service: string): () => void {
  const labels = { service }
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  meter
    .createObservableGauge('process_start_time_seconds', { description: 'When the process started, in Unix time' })
    .addCallback((result) => result.observe(Math.round(performance.timeOrigin) / 1_000, labels))
  meter
    .createObservableCounter('process_cpu_seconds_total', { description: 'User and system CPU time' })
    .addCallback((result) => {
      const { user, system } = process.cpuUsage()
      result.observe((user + system) / 1e6, labels)
    })
  meter
    .createObservableGauge('process_resident_memory_bytes', { description: 'Resident memory' })
    .addCallback((result) => result.observe(process.memoryUsage.rss(), labels))
  meter
    .createObservableGauge('nodejs_heap_used_bytes', { description: 'Memory of what the program itself keeps' })
    .addCallback((result) => result.observe(process.memoryUsage().heapUsed, labels))
  meter
    .createObservableGauge('nodejs_eventloop_lag_p99_seconds', { description: 'Event loop lag since the last look' })
    .addCallback((result) => {
      // The sampling interval itself is part of every sample.
      result.observe(Math.max(0, delay.percentile(99) / 1e9 - 0.01), labels)
      delay.reset()
    })
  return () => delay.disable()
}
