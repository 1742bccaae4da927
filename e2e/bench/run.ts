/**
 * `node e2e/bench/run.ts <name>...`, as `usage` says.
 *
 * Runs benchmarks beside their peers, every contender once a round. Prints a table and how Meridian stands against its
 * bars; exits non-zero when it is short of one. With --json: one object a line, one line a round.
 */
import { numberOf, readArguments, refuse, type Usage } from '../arguments.ts'
import { accept } from './accept.ts'
import { acceptAndRun } from './accept-and-run.ts'
import { batchCreate } from './batch-create.ts'
import type { Benchmark, Sample } from './benchmark.ts'
import { getRun } from './get-run.ts'
import { herdAtOneSecond } from './herd.ts'
import { history } from './history.ts'
import { httpRuns } from './http-runs.ts'
import { Lab } from './lab.ts'
import { lateness } from './lateness.ts'
import { memoryUnderLoad } from './memory.ts'
import { million } from './million.ts'
import { besideNeighbour } from './neighbour.ts'
import { occurrences } from './occurrences.ts'
import { type Profile, profiles } from './profile.ts'
import { formatTable, formatVerdict, judge, toJsonLine } from './report.ts'
import { runRounds } from './rounds.ts'
import { tenants } from './tenants.ts'
import { up } from './up.ts'

const benchmarks: Record<string, Benchmark> = {
  'http-runs': httpRuns,
  tenants,
  'batch-create': batchCreate,
  accept,
  'accept-and-run': acceptAndRun,
  lateness,
  neighbour: besideNeighbour,
  'get-run': getRun,
  herd: herdAtOneSecond,
  memory: memoryUnderLoad,
  million,
  history,
  occurrences,
  up,
}

const names = Object.keys(benchmarks)
const usage: Usage = {
  name: 'bench',
  text: `usage: ./meridian bench [<name>...] [options]

  Runs benchmarks beside their peers, every contender once a round; all of them when none is named:
  ${names.join(', ')}

  --json              one object a line, one line a round
  --profile ci|bench  how much: the bar is bench, the default
  --only NAME,...     only these contenders
  --rounds N          rounds of each benchmark
  --runs N            runs of a drain
  --seconds N         seconds of what goes by time
  --finished N        finished runs of the history
  --future N          runs that are scheduled`,
}

const { values: options, positionals } = readArguments(usage, {
  json: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  runs: { type: 'string' },
  seconds: { type: 'string' },
  finished: { type: 'string' },
  future: { type: 'string' },
  profile: { type: 'string', default: 'bench' },
  only: { type: 'string' },
})
const rounds = numberOf(usage, 'rounds', options.rounds)

const say = (line: string) => process.stderr.write(`${line}\n`)
const chosen = (positionals.length > 0 ? positionals : names).map((name) => {
  const benchmark = benchmarks[name]
  if (benchmark === undefined) refuse(usage, `There is no benchmark ${name}.`)
  return [name, benchmark] as const
})
const lab = new Lab(chooseProfile())
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void lab.close().then(() => process.exit(130)))
}

function chooseProfile(): Profile {
  const profile = profiles[options.profile as Profile['name']]
  if (profile === undefined) refuse(usage, `There is no profile ${options.profile}.`)
  return {
    ...profile,
    runs: numberOf(usage, 'runs', options.runs) ?? profile.runs,
    seconds: numberOf(usage, 'seconds', options.seconds) ?? profile.seconds,
    finishedRuns: numberOf(usage, 'finished', options.finished, 0) ?? profile.finishedRuns,
    futureRuns: numberOf(usage, 'future', options.future, 0) ?? profile.futureRuns,
  }
}

const samples: Sample[] = []
const failures: string[] = []
try {
  for (const [name, benchmark] of chosen) {
    say(`${name}: ${benchmark.title}`)
    const failed = await runRounds(lab, name, benchmark, {
      rounds: rounds ?? benchmark.rounds ?? lab.profile.rounds,
      only: options.only?.split(','),
      onSample: (sample) => {
        samples.push(sample)
        if (options.json) process.stdout.write(`${toJsonLine(sample)}\n`)
      },
      say,
    })
    failures.push(...failed)
  }
} finally {
  await lab.close()
}
const verdicts = judge(samples)
const report = options.json ? say : console.log
if (samples.length > 0) report(`\n${formatTable(samples)}\n`)
for (const verdict of verdicts) report(formatVerdict(verdict))
for (const failure of failures) report(`FAIL  ${failure}`)
process.exitCode = failures.length === 0 && verdicts.every(({ passed }) => passed) ? 0 : 1
