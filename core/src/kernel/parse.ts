import type { z } from 'zod'
import { type FieldProblem, validationFailed } from './errors.ts'

/** A JSON pointer (RFC 6901) from a path of keys. */
export const toPointer = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** Parses a value, or throws `validation-failed` with a pointer to everything that is wrong with it. */
export function parseValue<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  throw validationFailed(parsed.error.issues.flatMap(toProblems))
}

function toProblems(issue: z.core.$ZodIssue): FieldProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ pointer: toPointer([...issue.path, key]), detail: 'is not a field' }))
  }
  return [{ pointer: toPointer(issue.path), detail: issue.message }]
}
