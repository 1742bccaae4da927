import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Benchmark } from './benchmark.ts'

const execute = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')

export const up: Benchmark = {
  title: './meridian up on a fresh clone with a warm package cache, and once more',
  rounds: 1,
  contenders: [
    {
      name: 'meridian',
      round: async () => {
        const folder = mkdtempSync(join(tmpdir(), 'meridian-up-'))
        // Postgres runs as a user of its own when we are root, and must be able to enter.
        chmodSync(folder, 0o755)
        const clone = join(folder, 'meridian')
        const env: NodeJS.ProcessEnv = { ...process.env }
        delete env.MERIDIAN_HOME
        const meridian = async (...args: string[]) => {
          const start = performance.now()
          await execute(join(clone, 'meridian'), args, { cwd: clone, env, maxBuffer: 1 << 26 })
          return (performance.now() - start) / 1_000
        }
        try {
          await execute('git', ['clone', '--quiet', root, clone])
          const first = await meridian('up', '--detach')
          await meridian('down')
          const second = await meridian('up', '--detach')
          return [
            { metric: 'first', value: first, unit: 's' },
            { metric: 'second', value: second, unit: 's' },
          ]
        } finally {
          await meridian('reset').catch(() => undefined)
          rmSync(folder, { recursive: true, force: true })
        }
      },
    },
  ],
}
