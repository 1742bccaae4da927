import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Benchmark, Measure } from './benchmark.ts'

const execute = promisify(execFile)
const program = new URL('../../core/bench/occurrences.ts', import.meta.url)

export const occurrences: Benchmark = {
  title: 'the next instant of any schedule, hostile input, and the forecast of 100,000 schedules',
  rounds: 3,
  contenders: [
    {
      name: 'meridian',
      async round(lab) {
        const samples = lab.profile.name === 'ci' ? '200' : '1000'
        const { stdout } = await execute(process.execPath, [program.pathname, samples])
        return JSON.parse(stdout) as Measure[]
      },
    },
  ],
}
