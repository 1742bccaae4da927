import type { z } from 'zod'

/** The environment does not describe a program that can run. The message names every problem, one a line. */
export class ConfigError extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/**
 * Parses environment variables by a schema. An empty variable counts as absent, unknown ones are ignored.
 * Throws `ConfigError` with all problems at once; values are never part of it, they may be secrets.
 */
export function parseConfig<Schema extends z.ZodType>(
  schema: Schema,
  environment: Record<string, string | undefined>,
): z.output<Schema> {
  const present = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  )
  const result = schema.safeParse(present)
  if (result.success) return result.data
  throw new ConfigError(
    result.error.issues.map(({ path, message }) => {
      const name = path.map(String).join('.')
      return name ? `${name}: ${name in present ? message : 'is missing'}` : message
    }),
  )
}
