import { spawnSync } from 'node:child_process'
import { createPool } from '@meridian/core/db/client'
import { createMetrics } from '@meridian/core/kernel/metrics'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serveHealth } from '../src/health.ts'
import { startTarget, type Target } from './target.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'
import { type Bench, createBench, ended, targetOf } from './workers.ts'

let bench: Bench
let target: Target
let program: WorkerProcess
let url: string
beforeAll(async () => {
  target = await startTarget((_request, response) => response.end('ok'))
  bench = await createBench()
  program = await startWorkerProcess(['dispatcher', 'executor', 'reaper', 'janitor'], bench.environment)
  url = `http://127.0.0.1:${String(program.lines.find((line) => line['msg'] === 'workers are up')?.['metricsPort'])}`
})
afterAll(async () => {
  program.signal('SIGKILL')
  await program.exited
  await bench.close()
  await target.close()
})

const get = async (path: string, base = url): Promise<{ status: number; text: string }> => {
  const response = await fetch(base + path)
  return { status: response.status, text: await response.text() }
}

describe('the program', () => {
  it('says that it lives, and what it is', async () => {
    expect(await get('/health')).toEqual({
      status: 200,
      text: JSON.stringify({ status: 'ok', roles: ['dispatcher', 'executor', 'reaper', 'janitor'] }),
    })
    expect((await get('/ready')).status).toBe(200)
    expect((await get('/nothing')).status).toBe(404)
  })

  it('measures what it does', async () => {
    const [run] = await bench.accept({ target: targetOf(`${target.url}/`) })
    await ended(bench.ctx, run?.id ?? '')
    const later = await bench.accept(
      ...Array.from({ length: 3 }, () => ({
        target: targetOf(`${target.url}/`),
        dueAt: new Date(Date.now() + 86_400_000),
      })),
    )
    expect(later).toHaveLength(3)
    const { text } = await get('/metrics')
    expect(text).toMatch(/meridian_attempts_total\{outcome="succeeded"[^}]*\} 1\b/)
    expect(text).toMatch(/meridian_lateness_seconds_count(\{[^}]*\})? 1\b/)
    expect(text).toMatch(/meridian_attempt_duration_seconds_bucket/)
    expect(text).toMatch(/meridian_runs\{[^}]*state="scheduled"[^}]*\} 3\b/)
    expect(text).toMatch(/meridian_database_connections\{[^}]*state="total"[^}]*\} [1-9]/)
  })

  it('writes one JSON line an entry, and no secret', () => {
    expect(program.lines.length).toBeGreaterThan(0)
    for (const line of program.lines)
      expect(line).toMatchObject({
        service: 'workers.dispatcher+executor+reaper+janitor',
        time: expect.stringMatching(/Z$/),
      })
    expect(JSON.stringify(program.lines)).not.toContain('postgres://')
  })

  it('without a database is not ready, but lives', async () => {
    const engine = createPool({ url: 'postgres://127.0.0.1:1/none', max: 1, applicationName: 'none' })
    const metrics = createMetrics('test')
    const health = await serveHealth({ host: '127.0.0.1', port: 0, engine, metrics, roles: ['relay'] })
    const base = `http://127.0.0.1:${health.port}`
    expect(await get('/ready', base)).toEqual({
      status: 503,
      text: JSON.stringify({ status: 'database-away', roles: ['relay'] }),
    })
    expect((await get('/health', base)).status).toBe(200)
    await health.close()
    await metrics.close()
    await engine.end()
  })

  it('that is not told what it needs ends at once and says what is missing', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [new URL('../src/main.ts', import.meta.url).pathname],
      { env: { PATH: process.env['PATH'] }, encoding: 'utf8' },
    )
    expect(status).not.toBe(0)
    expect(stdout + stderr).toMatch(/ENGINE_DATABASE_URL: is missing/)
  })

  it('goes down in order when it is asked to', async () => {
    program.signal('SIGTERM')
    expect(await program.exited).toBe(0)
    expect((await bench.db.owner.query('select from executors')).rowCount).toBe(0)
  })
})
