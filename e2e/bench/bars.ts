/** What Meridian must reach, a line a promise; the aim is what it should reach. */
export interface Bar {
  name: string
  metric?: string
  /** Compare with this contender's figure of the same round instead of with a fixed number. */
  relativeTo?: string
  atLeast?: number
  atMost?: number
  aim: number
}

export const bars: readonly Bar[] = [
  { name: 'http-runs', relativeTo: 'graphile-worker', atLeast: 0.7, aim: 1 },
  // No promise: River keeps no payload apart, no events and no limits. It is what we want to be ahead of.
  { name: 'http-runs', relativeTo: 'river', atLeast: 0, aim: 1 },
  { name: 'tenants', relativeTo: 'graphile-worker', atLeast: 0.8, aim: 1 },
  { name: 'batch-create', relativeTo: 'graphile-worker', atLeast: 0.5, aim: 1 },
  { name: 'accept', relativeTo: 'without writing', atLeast: 0.45, aim: 0.6 },
  { name: 'accept', metric: 'p99', atMost: 30, aim: 15 },
  { name: 'get-run', metric: 'p50', atMost: 10, aim: 10 },
  { name: 'get-run', metric: 'p99', atMost: 50, aim: 50 },
  { name: 'lateness', metric: 'ahead-100.p99', atMost: 10, aim: 5 },
  { name: 'lateness', metric: 'ahead-1000.p99', atMost: 25, aim: 10 },
  { name: 'lateness', metric: 'soon-100.p99', atMost: 10, aim: 5 },
  { name: 'lateness', metric: 'soon-1000.p99', atMost: 25, aim: 10 },
  { name: 'lateness', metric: 'schedules-100.p99', atMost: 25, aim: 10 },
  { name: 'lateness', metric: 'ahead-100.early', atMost: 0, aim: 0 },
  { name: 'lateness', metric: 'ahead-1000.early', atMost: 0, aim: 0 },
  { name: 'lateness', metric: 'soon-100.early', atMost: 0, aim: 0 },
  { name: 'lateness', metric: 'soon-1000.early', atMost: 0, aim: 0 },
  { name: 'lateness', metric: 'schedules-100.early', atMost: 0, aim: 0 },
  { name: 'neighbour', metric: 'quiet.p99', atMost: 15, aim: 5 },
  { name: 'neighbour', metric: 'quiet.early', atMost: 0, aim: 0 },
  { name: 'neighbour', metric: 'backlog.p99', atMost: 250, aim: 100 },
  { name: 'neighbour', metric: 'backlog.early', atMost: 0, aim: 0 },
  { name: 'memory', metric: 'executor.max', atMost: 350, aim: 250 },
  // Flat: what a collector of garbage leaves behind over 20 minutes, and no more. In MB for every ten minutes.
  { name: 'memory', metric: 'executor.slope', atMost: 10, aim: 2 },
  { name: 'herd', metric: 'free.accepted', atMost: 2, aim: 1 },
  { name: 'herd', metric: 'free.p99', atMost: 2_000, aim: 1_500 },
  { name: 'herd', metric: 'free.early', atMost: 0, aim: 0 },
  { name: 'herd', metric: 'capped.accepted', atMost: 2, aim: 1 },
  { name: 'herd', metric: 'capped.p99', atMost: 5_000, aim: 3_000 },
  { name: 'herd', metric: 'capped.early', atMost: 0, aim: 0 },
  { name: 'million', metric: 'http-runs', relativeTo: 'before', atLeast: 0.9, aim: 1 },
  { name: 'million', metric: 'accept', relativeTo: 'before', atLeast: 0.9, aim: 1 },
  { name: 'million', metric: 'lateness.p99', atMost: 25, aim: 10 },
  { name: 'million', metric: 'idle-cpu', atMost: 0.1, aim: 0.05 },
  { name: 'million', metric: 'disk', atMost: 1_800, aim: 1_500 },
  { name: 'million', metric: 'redis', atMost: 0, aim: 0 },
  // Within a fifth of what it was before.
  { name: 'history', metric: 'http-runs', relativeTo: 'before', atLeast: 0.8, aim: 1 },
  { name: 'history', metric: 'accept', relativeTo: 'before', atLeast: 0.8, aim: 1 },
  { name: 'history', metric: 'lateness.p99', relativeTo: 'before', atMost: 1.2, aim: 1 },
  { name: 'history', metric: 'get-run.p50', relativeTo: 'before', atMost: 1.2, aim: 1 },
  { name: 'history', metric: 'get-run.p99', relativeTo: 'before', atMost: 1.2, aim: 1 },
  { name: 'history', metric: 'list-all.p50', relativeTo: 'before', atMost: 1.2, aim: 1 },
  { name: 'history', metric: 'list-failed.p50', relativeTo: 'before', atMost: 1.2, aim: 1 },
  { name: 'history', metric: 'list-ended.p50', relativeTo: 'before', atMost: 1.2, aim: 1 },
  { name: 'history', metric: 'list-job.p50', relativeTo: 'before', atMost: 1.2, aim: 1 },
  { name: 'history', metric: 'list-day-and-queue.p50', relativeTo: 'before', atMost: 1.2, aim: 1 },
  { name: 'occurrences', metric: 'cron.p99', atMost: 1, aim: 0.2 },
  { name: 'occurrences', metric: 'rrule.p99', atMost: 5, aim: 1 },
  { name: 'occurrences', metric: 'hostile.max', atMost: 50, aim: 10 },
  { name: 'occurrences', metric: 'forecast', atMost: 10, aim: 2 },
  { name: 'up', metric: 'first', atMost: 90, aim: 60 },
  { name: 'up', metric: 'second', atMost: 15, aim: 8 },
]
