import type { Benchmark, Contender, Measure, Sample } from './benchmark.ts'
import type { Lab } from './lab.ts'
import { calibrate, waitForQuiet } from './machine.ts'

/** More foreign CPU than this, in cores, spoils a round. */
const disturbedCores = 0.4

export interface RoundOptions {
  rounds: number
  /** Only these contenders, when given. */
  only: readonly string[] | undefined
  onSample(sample: Sample): void
  say(line: string): void
}

/** Runs every contender once a round. Returns the contenders that threw, a line each; the others go on. */
export async function runRounds(
  lab: Lab,
  name: string,
  benchmark: Benchmark,
  options: RoundOptions,
): Promise<string[]> {
  const { rounds, only, onSample, say } = options
  const contenders = benchmark.contenders
    .filter((contender) => only?.includes(contender.name) ?? true)
    .filter((contender) => {
      const why = contender.whyAway?.()
      if (why !== undefined) say(`  ${contender.name} is left out: ${why}`)
      return why === undefined
    })
  const failures: string[] = []
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of contenders) {
      const at = { name, contender: contender.name, round }
      try {
        const { measures, note } = await runUndisturbed(lab, contender, round)
        for (const measure of measures) onSample({ ...measure, ...at })
        const [main] = measures
        say(`  round ${round}, ${contender.name}: ${main?.metric ?? ''} ${main?.value.toFixed(1)} ${main?.unit}${note}`)
      } catch (error) {
        const told = error instanceof Error ? (error.stack ?? error.message) : String(error)
        failures.push(`${name}, round ${round}, ${contender.name}: ${told}`)
        say(`  round ${round}, ${contender.name}: FAILED`)
      }
    }
  }
  return failures
}

/** One round of one contender; one that others disturbed is done once more. */
async function runUndisturbed(
  lab: Lab,
  contender: Contender,
  round: number,
): Promise<{ measures: Measure[]; note: string }> {
  const { waitsForQuiet } = lab.profile
  for (let again = waitsForQuiet; ; again = false) {
    const isQuiet = !waitsForQuiet || (await waitForQuiet(lab.groups()))
    const calibration = { metric: 'calibration', value: calibrate(), unit: '1/ms' }
    const measures = [...(await contender.round(lab, round)), calibration]
    const foreign = measures.find(({ metric }) => metric === 'foreign')?.value ?? 0
    if (again && foreign > disturbedCores) continue
    const isDisturbed = waitsForQuiet && (!isQuiet || foreign > disturbedCores)
    return { measures, note: isDisturbed ? ', disturbed by others' : '' }
  }
}
