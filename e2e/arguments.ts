import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

/** What a program is called by, and what it takes; printed for `--help`, and with what is wrong. */
export interface Usage {
  name: string
  text: string
}

/** Says what is wrong with the arguments and how they go, and ends the program with the code 2. */
export function refuse({ name, text }: Usage, problem: string): never {
  process.stderr.write(`${name}: ${problem}\n\n${text}\n`)
  process.exit(2)
}

/** The options and the other arguments of a program. Ends it when help is asked for, or something is not known. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(usage: Usage, options: Options) {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(`${usage.text}\n`)
    process.exit(0)
  }
  try {
    return parseArgs({ options, allowPositionals: true, strict: true })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // Node adds advice for programmers.
    return refuse(usage, `${(error.message.split('. ')[0] ?? error.message).replace(/\.$/, '')}.`)
  }
}

/** A number of at least `least`; absent stays absent. */
export function numberOf(usage: Usage, option: string, value: string | undefined, least = 1): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number) || number < least)
    refuse(usage, `--${option} must be a number of at least ${least}, not ${JSON.stringify(value)}.`)
  return number
}
