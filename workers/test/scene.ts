import type { Run } from '@meridian/core/run/run'
import { expect, onTestFinished } from 'vitest'
import type { RoleName } from '../src/config.ts'
import { type Received, startTarget, type Target } from './target.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'
import { type Bench, type BenchOptions, createBench, ended, targetOf } from './workers.ts'

/** A bench with a target, for one test. */
export interface Scene {
  bench: Bench
  target: Target
  /** Paths that are answered only when they are released, in the order of their requests; others at once. */
  gates: Map<string, (() => void)[]>
  /** What a run at a path of the target is accepted with. */
  at(path: string): { target: ReturnType<typeof targetOf> }
  requestsTo(path: string): Received[]
  /** Workers as a process of their own, killed when the test is over. */
  spawn(roles: RoleName[], more?: Record<string, string>): Promise<WorkerProcess>
  /** Rows of a table, as the owner of the database sees them. */
  count(table: string): Promise<number>
  /** Waits until the runs have ended: well, once each, and nothing is held any more. */
  allSucceed(runs: Run[]): Promise<Run[]>
}

export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10))
}

const endedTwice =
  "(select subject from events where type in ('run.succeeded', 'run.failed') group by 1 having count(*) > 1) x"

/** Opens what closes by itself when the test is over. Leases are short, so that tests are. */
export async function openScene(options: BenchOptions = {}): Promise<Scene> {
  const gates = new Map<string, (() => void)[]>()
  const target = await startTarget(({ path }, response) => {
    const gate = gates.get(path)
    if (gate === undefined) response.end('ok')
    else gate.push(() => response.end('ok'))
  })
  onTestFinished(() => target.close())
  const bench = await createBench({ ...options, environment: { LEASE_SECONDS: '2', ...options.environment } })
  onTestFinished(() => bench.close())
  const scene: Scene = {
    bench,
    target,
    gates,
    at: (path) => ({ target: targetOf(`${target.url}${path}`) }),
    requestsTo: (path) => target.received.filter((request) => request.path === path),
    async spawn(roles, more) {
      const started = await startWorkerProcess(roles, { ...bench.environment, ...more })
      onTestFinished(async () => {
        started.signal('SIGCONT')
        started.signal('SIGKILL')
        await started.exited
      })
      return started
    },
    async count(table) {
      const { rows } = await bench.db.owner.query<{ n: number }>(`select count(*)::int as n from ${table}`)
      return rows[0]?.n ?? -1
    },
    async allSucceed(runs) {
      const all = await Promise.all(runs.map((run) => ended(bench.ctx, run.id, 25_000)))
      expect(new Set(all.map((run) => run.status))).toEqual(new Set(['succeeded']))
      expect(await scene.count(endedTwice)).toBe(0)
      expect(await scene.count('held')).toBe(0)
      return all
    },
  }
  return scene
}
