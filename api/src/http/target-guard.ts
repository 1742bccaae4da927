import { validationFailed } from '@meridian/core/kernel/errors'
import { type Callbacks, toldEnds, urlProblems } from '@meridian/core/run/target'
import type { Services } from './env.ts'

interface Callable {
  url: string
  callbacks?: Callbacks | undefined
}

/** Refuses a target that leads to an address this installation does not call. Throws `validation-failed`. */
export function requireCallable({ config }: Services, target: Callable | undefined, pointer: string): void {
  // The schema has checked everything but this.
  if (target === undefined || config.allowPrivateTargets) return
  const called = [{ url: target.url, at: pointer }]
  for (const end of toldEnds(target.callbacks))
    called.push({ url: target.callbacks?.[end]?.url ?? '', at: `${pointer}/callbacks/${end}` })
  const problems = called.flatMap(({ url, at }) =>
    urlProblems(url, { allowPrivate: false }).map((detail) => ({ pointer: `${at}/url`, detail })),
  )
  if (problems.length > 0) throw validationFailed(problems)
}
