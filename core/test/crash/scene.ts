import type { Pool } from '../../src/db/client.ts'
import type { Ctx } from '../../src/db/context.ts'
import { createJob } from '../../src/job/create.ts'
import type { NewJob } from '../../src/job/job.ts'
import { materialise } from '../../src/run/materialise.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import type { Stage } from '../run/stage.ts'

/** What the process that is killed has in its hands. */
export interface Process {
  engine: Pool
  /** The context of a person or a program, by its pool. */
  ctx: Ctx
}

export type Act = (process: Process) => Promise<unknown>

/** Before a step: what is arranged, and the step itself as a process that may die takes it. */
export interface Scene {
  stage: Stage
  /** An instant of every schedule, two seconds ago. */
  baseMs: number
  at(hours: number): Date
  /** A job that runs each hour; its instants of two hours ago and after are undecided. */
  hourly(changes?: Partial<NewJob>): Promise<string>
  /** Writes three hours ahead. */
  write(): Promise<void>
  /** The same job with that written. */
  written(changes?: Partial<NewJob>): Promise<string>
  /** Lets the run of the latest instant by now be performed, and fail. */
  fail(): Promise<void>
  sql(text: string, ...values: unknown[]): Promise<void>
}

const second = 1_000
const hour = 3_600 * second

export const aheadMs = 3 * hour

export function openScene(stage: Stage): Scene {
  const baseMs = Math.floor(Date.now() / second) * second - 2 * second
  const at = (hours: number): Date => new Date(baseMs + hours * hour)
  const scene: Scene = {
    stage,
    baseMs,
    at,
    async hourly(changes = {}) {
      const schedule = { type: 'every', every: 'PT1H', anchor: at(-2).toISOString() } as const
      const { id } = await createJob(
        stage.ctx,
        sampleJob({ schedule, overlap: 'queue-all', catchUp: 'all', ...changes }),
      )
      await scene.sql('update schedules set next_at = $2 where job_id = $1', id, at(-2))
      return id
    },
    async write() {
      await materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs, limit: 100 })
    },
    async written(changes) {
      const id = await scene.hourly(changes)
      await scene.write()
      return id
    },
    async fail() {
      await stage.end(await stage.claim(await stage.admit()), 'failed')
    },
    sql: async (text, ...values) => void (await stage.db.owner.query(text, values)),
  }
  return scene
}
