import { hash } from 'node:crypto'
import { z } from 'zod'
import { durationMs, durationValue } from '../kernel/duration.ts'
import { validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { lineValue } from '../kernel/text.ts'
import type { CreateKey } from './details.ts'
import type { RunRequest } from './request-codec.ts'

export const scopes = ['project', 'job', 'queue'] as const

const keyFields = {
  key: lineValue(255),
  scope: z
    .enum(scopes)
    .default('project')
    .meta({ description: 'Where the key means something: in the project, for one job, or in one queue.' }),
}

/** The wire value of a key under which a second create finds the first run instead of making another. */
export const deduplicationValue = z
  .strictObject({
    ...keyFields,
    window: durationValue('PT1S', 'PT168H')
      .default('PT24H')
      .meta({ description: 'How long after the first create others find its run.' }),
  })
  .meta({ id: 'Deduplication' })

/** The wire value of a key under which a burst of creates comes to one run. */
export const debounceValue = z
  .strictObject({
    ...keyFields,
    delay: durationValue('PT0.1S', 'PT168H').meta({ description: 'How long it has to be quiet.' }),
    maxWait: durationValue('PT0.1S', 'PT168H')
      .optional()
      .meta({ description: 'So long after the first create it is over, however many come.' }),
    mode: z.enum(['trailing', 'leading']).default('trailing').meta({
      description:
        'trailing: the last create runs, when it has been quiet. leading: the first one runs at once, and the others do not.',
    }),
  })
  .refine(({ delay, maxWait }) => maxWait === undefined || (durationMs(maxWait) ?? 0) >= (durationMs(delay) ?? 0), {
    path: ['maxWait'],
    message: 'must not be shorter than delay',
  })
  .meta({ id: 'Debounce' })

/** The wire value of a key whose runs are performed together. */
export const batchValue = z
  .strictObject({
    ...keyFields,
    maxSize: z.int().min(1).max(1_000).default(100).meta({ description: 'So many at once at most.' }),
    maxWait: durationValue('PT0.1S', 'PT24H')
      .default('PT5S')
      .meta({ description: 'How long the first one waits for others.' }),
  })
  .meta({ id: 'Batch' })

/** What a create may say about earlier ones. */
export interface KeyRules {
  deduplication?: z.output<typeof deduplicationValue> | undefined
  debounce?: z.output<typeof debounceValue> | undefined
  batch?: z.output<typeof batchValue> | undefined
}

/** Where the create would put its run. */
interface KeyPlaces {
  projectId: Uuid
  jobId: Uuid | null
  queueId: Uuid
  /** Absent: the database's clock counts. */
  nowMs?: number
  /** What the run asks for, and a new id: for a run that is performed with others. */
  request: Pick<RunRequest, 'method' | 'url' | 'headers'>
  makeId(): Uuid
}

/** What each kind of key is called by those who give it. */
export const keyTypes = { deduplicate: 'deduplication', debounce: 'debounce', collect: 'batch' } as const

/** The key that a create gives, as its run shows it. */
export function shownKeyOf({ deduplication, debounce, batch }: KeyRules): ShownKey | null {
  const type = deduplication !== undefined ? 'deduplication' : debounce !== undefined ? 'debounce' : 'batch'
  const rule = deduplication ?? debounce ?? batch
  return rule === undefined ? null : { type, key: rule.key, scope: rule.scope }
}

/** The key of a create as it is shown with its run. */
export interface ShownKey {
  type: (typeof keyTypes)[CreateKey['kind']]
  key: string
  scope: (typeof scopes)[number]
}

/** How a key is shown: in words, and without what is kept beside it. */
export const showKey = (
  { kind, scope, key }: Pick<CreateKey, 'kind' | 'scope' | 'key'>,
  { projectId, jobId }: Pick<KeyPlaces, 'projectId' | 'jobId'>,
): ShownKey => ({
  type: keyTypes[kind],
  key: key.split(behindKey, 1)[0] ?? key,
  scope: scope === projectId ? 'project' : scope === jobId ? 'job' : 'queue',
})

/** What stands behind the key of runs that are performed together: what they ask for. */
const behindKey = '\u001f'

const ms = (duration: string): number => durationMs(duration) ?? 0

/** The key of a create; undefined when it has none. Throws `validation-failed` for two of them, or for one of a job without one. */
export function createKeyOf(rules: KeyRules, places: KeyPlaces): CreateKey | undefined {
  const { deduplication, debounce, batch } = rules
  const [first, second] = (['deduplication', 'debounce', 'batch'] as const).filter((name) => rules[name] !== undefined)
  if (second !== undefined)
    throw validationFailed([{ pointer: `/${second}`, detail: `must not be given beside ${first}` }])
  if (batch !== undefined) {
    const scope = scopeOf('/batch', batch.scope, places)
    const { method, url, headers } = places.request
    // What is asked for in different ways can't be asked for at once.
    const key = `${batch.key}${behindKey}${hash('sha256', JSON.stringify([method, url, headers]), 'base64')}`
    const batchId = places.makeId()
    return { kind: 'collect', scope, key, ms: ms(batch.maxWait), max: batch.maxSize, batchId, ...atClock(places) }
  }
  if (deduplication !== undefined) {
    const { key, window } = deduplication
    const scope = scopeOf('/deduplication', deduplication.scope, places)
    return { kind: 'deduplicate', scope, key, ms: ms(window), ...atClock(places) }
  }
  if (debounce === undefined) return undefined
  const { key, delay, maxWait, mode } = debounce
  return {
    kind: 'debounce',
    scope: scopeOf('/debounce', debounce.scope, places),
    key,
    ms: ms(delay),
    ...(maxWait === undefined ? {} : { maxMs: ms(maxWait) }),
    ...(mode === 'leading' ? { leading: true } : {}),
    ...atClock(places),
  }
}

const atClock = ({ nowMs }: KeyPlaces): { nowMs?: number } => (nowMs === undefined ? {} : { nowMs })

function scopeOf(pointer: string, scope: (typeof scopes)[number], { projectId, jobId, queueId }: KeyPlaces): Uuid {
  if (scope === 'project') return projectId
  if (scope === 'queue') return queueId
  if (jobId === null) throw validationFailed([{ pointer: `${pointer}/scope`, detail: 'needs a run of a job' }])
  return jobId
}
