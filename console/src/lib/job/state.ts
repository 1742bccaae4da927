import type { JobSummary } from '@meridian/sdk'
import { type Role, type Scope, whyNot } from '#lib/access.ts'

const states: readonly string[] = ['active', 'paused', 'archived'] satisfies JobSummary['state'][]

export const isJobState = (text: string | null): text is JobSummary['state'] => text !== null && states.includes(text)

/** Why something can't be done with a job, or undefined when it can: permission first, then that it is put away. */
export const whyNotWith = (job: Pick<JobSummary, 'archivedAt'>, role: Role, scope: Scope): string | undefined =>
  whyNot(role, scope) ?? (job.archivedAt === null ? undefined : 'It is archived. Bring it back first')
