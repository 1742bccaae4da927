import type { JobVersionSummary } from '@meridian/sdk'

const words: Record<keyof JobVersionSummary['definition'], string> = {
  name: 'name',
  description: 'description',
  externalId: 'external id',
  tags: 'tags',
  schedule: 'schedule',
  queue: 'queue',
  overlap: 'overlap rule',
  catchUp: 'catch-up rule',
  catchUpMax: 'catch-up limit',
  catchUpWindow: 'catch-up window',
  pauseAfterFailures: 'pause after failures',
  afterLastRun: 'what comes after the last run',
  retry: 'retries',
  startWithin: 'time to begin',
  endWithin: 'time to end',
  deadLetters: 'dead letters',
  priority: 'priority',
}

/** Which parts of a job differ between two versions, in words. The request is not among them: lists do not carry it. */
export function changedFields(
  before: JobVersionSummary['definition'],
  after: JobVersionSummary['definition'],
): string[] {
  return (Object.keys(words) as (keyof typeof words)[])
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map((field) => words[field])
}
