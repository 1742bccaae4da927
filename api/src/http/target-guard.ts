import { validationFailed } from '@meridian/core/kernel/errors'
import { urlProblems } from '@meridian/core/run/target'
import type { Services } from './env.ts'

/** Refuses a target that leads to an address this installation does not call. Throws `validation-failed`. */
export function requireCallable({ config }: Services, target: { url: string } | undefined, pointer: string): void {
  // The schema has checked everything but this.
  if (target === undefined || config.allowPrivateTargets) return
  const problems = urlProblems(target.url, { allowPrivate: false })
  if (problems.length > 0) throw validationFailed(problems.map((detail) => ({ pointer: `${pointer}/url`, detail })))
}
