import { setTimeout as sleep } from 'node:timers/promises'

/** Collects rows of concurrent requests into few flushes. */
export interface GroupCommit<Row, Result> {
  /** Resolves with the row's own result once the flush that carries it has returned. */
  submit(row: Row): Promise<Result>
  /** Rows waiting or in flight. */
  readonly pending: number
  /** Resolves when nothing is pending any more. */
  drained(): Promise<void>
}

export interface GroupCommitOptions<Row, Result> {
  /** Writes rows in one transaction and answers each, in order; throws when it wrote nothing. */
  flush(rows: Row[]): Promise<Result[]>
  /** Whether a failure says nothing about the rows: then all of them fail with it. */
  isUnavailable(error: unknown): boolean
  rowsMax: number
  /** What a row weighs, and how much a flush may carry; one row always goes. */
  weigh(row: Row): number
  weightMax: number
  /** The least time from one flush to the next, once they carry several rows. */
  gapMs: number
}

interface Waiting<Row, Result> {
  row: Row
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * One flush is in flight at a time, and the next leaves when it returns: alone a row waits for nobody, under load the
 * batches grow by themselves. Where several rows come in the time of a flush, flushes keep a gap: each costs as much as
 * several rows, in this process and in Postgres. When a flush fails because of its rows, each is tried by
 * itself, so a bad one fails alone.
 */
export function createGroupCommit<Row, Result>(options: GroupCommitOptions<Row, Result>): GroupCommit<Row, Result> {
  const { flush, isUnavailable, rowsMax, weigh, weightMax, gapMs } = options
  let waiting: Waiting<Row, Result>[] = []
  let inFlight = 0
  let isRunning = false
  let idle = Promise.withResolvers<void>()

  const take = (): Waiting<Row, Result>[] => {
    let weight = 0
    let count = 0
    for (const { row } of waiting) {
      weight += weigh(row)
      if (count > 0 && (count === rowsMax || weight > weightMax)) break
      count++
    }
    if (count === waiting.length) {
      const all = waiting
      waiting = []
      return all
    }
    return waiting.splice(0, count)
  }

  const write = async (batch: Waiting<Row, Result>[]): Promise<void> => {
    try {
      const results = await flush(batch.map(({ row }) => row))
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result === undefined) reject(new Error('a flush left a row without an answer'))
        else resolve(result)
      })
    } catch (error) {
      const [first, ...others] = batch
      if (first === undefined) return
      if (others.length === 0 || isUnavailable(error)) for (const { reject } of batch) reject(error)
      else for (const one of batch) await write([one])
    }
  }

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = take()
      inFlight = batch.length
      const leftAt = performance.now()
      await write(batch)
      inFlight = 0
      const restMs = leftAt + gapMs - performance.now()
      if (batch.length > 1 && restMs > 0) await sleep(restMs)
    }
    isRunning = false
    idle.resolve()
  }

  return {
    submit(row) {
      const { promise, resolve, reject } = Promise.withResolvers<Result>()
      waiting.push({ row, resolve, reject })
      if (!isRunning) {
        isRunning = true
        idle = Promise.withResolvers<void>()
        // After everything that arrived in this turn of the loop.
        setImmediate(() => void run())
      }
      return promise
    },
    get pending() {
      return waiting.length + inFlight
    },
    drained: () => (isRunning ? idle.promise : Promise.resolve()),
  }
}
