import { createPool } from '@meridian/core/db/client'
import { migrate } from '@meridian/core/db/migrate'
import { createJob } from '@meridian/core/job/create'
import type { Run } from '@meridian/core/run/run'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { startOwnPostgres } from '@meridian/core/testing/test-db'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openScene, until } from './scene.ts'
import { ended } from './workers.ts'

describe('Postgres', () => {
  it('crashing under load: what was accepted ends, once each, and the workers live on', async () => {
    const postgres = await startOwnPostgres()
    onTestFinished(() => postgres.stop())
    const scene = await openScene({ postgresUrl: postgres.url })
    await scene.bench.startWorkers('scheduler', 'dispatcher', 'executor', 'reaper', 'relay', 'janitor')
    const runs: Run[] = []
    for (let round = 0; round < 2; round++) {
      runs.push(
        ...(await scene.bench.accept(
          ...Array.from({ length: 60 }, (_, index) => scene.at(`/crash/${round}/${index}`)),
        )),
      )
      await until(() => scene.target.received.length > round * 60 + 5)
      await postgres.crash()
    }
    runs.push(...(await scene.bench.accept(...Array.from({ length: 20 }, (_, index) => scene.at(`/after/${index}`)))))
    const all = await scene.allSucceed(runs)
    expect(new Set(scene.target.received.map((request) => request.path)).size).toBe(140)
    // Attempts are at least once: a report that the crash swallowed is made again, not the attempt.
    expect(all.filter((run) => run.attempt === 1).length).toBeGreaterThan(100)
  })

  it('that is not migrated yet is waited for', async () => {
    const scene = await openScene()
    const unmigrated = `unmigrated_${process.pid}`
    await scene.bench.db.owner.query(`create database ${unmigrated}`)
    const url = (text: string): string => text.replace(/\/[^/]*$/, `/${unmigrated}`)
    try {
      const early = await scene.spawn(['scheduler', 'dispatcher', 'executor', 'reaper', 'relay', 'janitor'], {
        ENGINE_DATABASE_URL: url(scene.bench.db.engineUrl),
      })
      await early.logged('a pass failed')
      await migrate(url(scene.bench.db.ownerUrl))
      const owner = createPool({ url: url(scene.bench.db.ownerUrl), max: 1, applicationName: 'looking' })
      await until(async () => (await owner.query('select from executors')).rowCount === 1)
      await owner.end()
      const seen = early.lines.length
      early.signal('SIGTERM')
      expect(await early.exited).toBe(0)
      expect(early.lines.length).toBeGreaterThan(seen)
    } finally {
      await scene.bench.db.owner.query(`drop database ${unmigrated} with (force)`)
    }
  })
})

describe('many at once', () => {
  it('two of every role, two thousand runs and a schedule: none lost, none doubled, one outcome an instant', async () => {
    const scene = await openScene({ environment: { LEASE_SECONDS: '15' } })
    const roles = ['scheduler', 'dispatcher', 'executor', 'relay', 'reaper', 'janitor'] as const
    await Promise.all([scene.bench.startWorkers(...roles), scene.bench.startWorkers(...roles)])
    const job = await createJob(
      scene.bench.ctx,
      sampleJob({
        target: { type: 'http', url: `${scene.target.url}/tick` },
        schedule: { type: 'every', every: 'PT1S' },
        overlap: 'allow',
      }),
    )
    const runs: Run[] = []
    for (let round = 0; round < 10; round++) {
      runs.push(
        ...(await scene.bench.accept(
          ...Array.from({ length: 200 }, (_, index) => ({
            ...scene.at(`/many/${round}/${index}`),
            ...(index % 4 === 0 ? { dueAt: new Date(Date.now() + index * 5) } : {}),
          })),
        )),
      )
    }
    const all = await Promise.all(runs.map((run) => ended(scene.bench.ctx, run.id, 28_000)))
    expect(all.every((run) => run.status === 'succeeded' && run.attempt === 1)).toBe(true)
    const paths = scene.target.received.map((request) => request.path).filter((path) => path.startsWith('/many/'))
    expect(paths).toHaveLength(2_000)
    expect(new Set(paths).size).toBe(2_000)
    await until(() => scene.requestsTo('/tick').length >= 3)
    const instants = scene.requestsTo('/tick').map((request) => request.headers['meridian-nominal-at'])
    expect(new Set(instants).size).toBe(instants.length)
    expect(
      await scene.count(
        `(select job_id, nominal_at from occurrences where job_id = '${job.id}' group by 1, 2 having count(*) > 1) x`,
      ),
    ).toBe(0)
    expect(
      await scene.count("(select subject from events where type = 'run.succeeded' group by 1 having count(*) > 1) x"),
    ).toBe(0)
  })
})
