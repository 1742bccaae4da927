import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

/** Arguments that a command does not take: it has done nothing, and ends with the code 2. */
export class Misuse extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Misuse'
  }
}

/** The options and the other arguments of a command. Throws `Misuse` for what it does not know. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
  { allowPositionals = false }: { allowPositionals?: boolean } = {},
) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals, strict: true })
    return { values, positionals: positionals as string[] }
  } catch (error) {
    throw error instanceof TypeError ? new Misuse(sentenceOf(error.message)) : error
  }
}

/** Node adds advice for programmers. */
const sentenceOf = (message: string): string => `${(message.split('. ')[0] ?? message).replace(/\.$/, '')}.`
