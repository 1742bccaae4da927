import type { JobDefinition } from './form.ts'

interface Choice<Value extends string> {
  value: Value
  label: string
  hint: string
}

/** The overlap rules: what becomes of a run that is due while one of the same job is still open. */
export const overlapChoices: Choice<JobDefinition['overlap']>[] = [
  { value: 'skip', label: 'Skip the new one', hint: 'Never two at once' },
  { value: 'allow', label: 'Start it as well', hint: 'Any number at once' },
  { value: 'queue-one', label: 'Let it wait', hint: 'One waits, further ones are skipped' },
  { value: 'queue-all', label: 'Let all wait', hint: 'One after the other' },
  { value: 'replace', label: 'Let the newest wait', hint: 'It takes the place of one that waits' },
  { value: 'cancel-running', label: 'Stop the old one', hint: 'And start the new one' },
]

/** What is done about instants that are more than a minute late. */
export const catchUpChoices: Choice<JobDefinition['catchUp']>[] = [
  { value: 'one', label: 'Run once', hint: 'For all that was missed' },
  { value: 'skip', label: 'Leave it', hint: 'Go on with the next instant' },
  { value: 'all', label: 'Make up for it', hint: 'Oldest first, up to a limit' },
]

/** What becomes of a job once its schedule is over and its last run has ended. */
export const afterLastRunChoices: Choice<JobDefinition['afterLastRun']>[] = [
  { value: 'keep', label: 'Keep the job', hint: 'It stays in the list, without a next run' },
  { value: 'archive', label: 'Archive it', hint: 'Out of the lists; it can be brought back' },
  { value: 'delete', label: 'Delete it', hint: 'Its runs stay readable' },
]

export const priorityChoices: Choice<string>[] = [
  { value: '1', label: '1, first', hint: 'Before all others of the queue' },
  { value: '2', label: '2', hint: '' },
  { value: '3', label: '3, usual', hint: '' },
  { value: '4', label: '4', hint: '' },
  { value: '5', label: '5, last', hint: 'When nothing else waits' },
]
