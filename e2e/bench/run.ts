/**
 * `node e2e/bench/run.ts <name>... [--json] [--rounds N] [--runs N] [--seconds N] [--profile ci|bench] [--only CONTENDER,...]`
 *
 * Runs benchmarks beside their peers, every contender once a round. Prints a table and how Meridian stands against its
 * bars; exits non-zero when it is short of one. With --json: one object a line, one line a round.
 */
import { parseArgs } from 'node:util'
import { accept } from './accept.ts'
import { acceptAndRun } from './accept-and-run.ts'
import { batchCreate } from './batch-create.ts'
import type { Benchmark, Sample } from './benchmark.ts'
import { getRun } from './get-run.ts'
import { httpRuns } from './http-runs.ts'
import { Lab } from './lab.ts'
import { lateness } from './lateness.ts'
import { calibrate, waitForQuiet } from './machine.ts'
import { million } from './million.ts'
import { type Profile, profiles } from './profile.ts'
import { formatTable, formatVerdict, judge, toJsonLine } from './report.ts'
import { up } from './up.ts'

const benchmarks: Record<string, Benchmark> = {
  'http-runs': httpRuns,
  'batch-create': batchCreate,
  accept,
  'accept-and-run': acceptAndRun,
  lateness,
  'get-run': getRun,
  million,
  up,
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    runs: { type: 'string' },
    seconds: { type: 'string' },
    profile: { type: 'string', default: 'bench' },
    only: { type: 'string' },
  },
})

const say = (line: string) => process.stderr.write(`${line}\n`)
const names = positionals.length > 0 ? positionals : Object.keys(benchmarks)
const lab = new Lab(chooseProfile())
process.once('SIGINT', () => void lab.close().then(() => process.exit(130)))

function chooseProfile(): Profile {
  const profile = profiles[options.profile as Profile['name']]
  if (profile === undefined) throw new Error(`there is no profile ${options.profile}: ci, bench`)
  return {
    ...profile,
    rounds: Number(options.rounds ?? profile.rounds),
    runs: Number(options.runs ?? profile.runs),
    seconds: Number(options.seconds ?? profile.seconds),
  }
}

async function runBenchmark(name: string, { title, contenders, rounds }: Benchmark): Promise<Sample[]> {
  say(`${name}: ${title}`)
  const wanted = options.only?.split(',')
  const samples: Sample[] = []
  const take = (sample: Sample) => {
    samples.push(sample)
    if (options.json) process.stdout.write(`${toJsonLine(sample)}\n`)
  }
  for (
    let round = 1;
    round <= (options.rounds === undefined ? (rounds ?? lab.profile.rounds) : lab.profile.rounds);
    round += 1
  ) {
    for (const contender of contenders) {
      if (wanted !== undefined && !wanted.includes(contender.name)) continue
      const isQuiet = !lab.profile.waitsForQuiet || (await waitForQuiet(lab.groups()))
      const calibration = calibrate()
      const measures = await contender.round(lab, round)
      const at = { name, contender: contender.name, round }
      for (const measure of measures) take({ ...measure, ...at })
      take({ ...at, metric: 'calibration', value: calibration, unit: '1/ms' })
      const [main] = measures
      const noise = isQuiet ? '' : ', the machine was not quiet'
      say(`  round ${round}, ${contender.name}: ${main?.metric ?? ''} ${main?.value.toFixed(1)} ${main?.unit}${noise}`)
    }
  }
  return samples
}

const samples: Sample[] = []
try {
  for (const name of names) {
    const benchmark = benchmarks[name]
    if (benchmark === undefined) throw new Error(`there is no benchmark ${name}: ${Object.keys(benchmarks).join(', ')}`)
    samples.push(...(await runBenchmark(name, benchmark)))
  }
} finally {
  await lab.close()
}
const verdicts = judge(samples)
const report = options.json ? say : console.log
report(`\n${formatTable(samples)}\n`)
for (const verdict of verdicts) report(formatVerdict(verdict))
process.exitCode = verdicts.every(({ passed }) => passed) ? 0 : 1
