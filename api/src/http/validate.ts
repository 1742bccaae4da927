import { AppError, type FieldProblem, validationFailed } from '@meridian/core/kernel/errors'
import { toPointer } from '@meridian/core/kernel/parse'
import type { z } from 'zod'

// Enough to see what is wrong; a body of a million mistakes is not worth a megabyte of answer.
const problemsMax = 50

/** Zod's issues as field problems. Alternatives of a union that fit best are the ones explained. */
export function fieldProblems(issues: readonly z.core.$ZodIssue[], base: readonly PropertyKey[] = []): FieldProblem[] {
  return issues
    .flatMap((issue): FieldProblem[] => {
      const path = [...base, ...issue.path]
      if (issue.code === 'unrecognized_keys') {
        return issue.keys.map((key) => ({ pointer: toPointer([...path, key]), detail: 'is not a known field' }))
      }
      if (issue.code === 'invalid_union' && issue.errors.length > 0) {
        const closest = [...issue.errors].sort((a, b) => depthOf(b) - depthOf(a) || a.length - b.length)[0] ?? []
        return fieldProblems(closest, path)
      }
      return [{ pointer: toPointer(path), detail: detailOf(issue) }]
    })
    .slice(0, problemsMax)
}

const depthOf = (issues: readonly z.core.$ZodIssue[]): number => Math.max(0, ...issues.map(({ path }) => path.length))

function detailOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'is required'
  return issue.message
}

/** The parsed value. Throws `validation-failed` with a pointer for each problem. */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value, { reportInput: true })
  if (parsed.success) return parsed.data
  throw validationFailed(fieldProblems(parsed.error.issues))
}

/** Prefixes the pointers of a problem with where its part lies in the body. */
export function atPointer(prefix: string, error: unknown): unknown {
  if (!(error instanceof AppError) || error.extra.errors === undefined) return error
  const errors = error.extra.errors.map(({ pointer, detail }) => ({ pointer: prefix + pointer, detail }))
  return new AppError(error.code, error.message, { ...error.extra, errors })
}
