import { AppError } from './errors.ts'

/** Holds an editor's `If-Match` against what is stored. No expectation, no check. */
export function requireVersion(noun: string, version: number, expected: number | undefined): void {
  if (expected === undefined || expected === version) return
  throw new AppError('precondition-failed', `The ${noun} has changed: it is at version ${version}, not ${expected}.`, {
    current: { version },
  })
}
