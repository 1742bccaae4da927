import type { JobVersionSummary } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { changedFields } from './changes.ts'

const retry = { limit: 5, delay: 'PT0.1S', factor: 2, maxDelay: 'PT1.6S', jitter: 0.2 }
const definition: JobVersionSummary['definition'] = {
  name: 'a',
  description: null,
  externalId: null,
  tags: ['x'],
  schedule: null,
  queue: 'default',
  overlap: 'skip',
  catchUp: 'one',
  catchUpMax: 100,
  catchUpWindow: null,
  pauseAfterFailures: null,
  afterLastRun: 'keep',
  startWithin: null,
  endWithin: null,
  deadLetters: 'keep',
  retry,
  priority: 3,
}

describe('changedFields', () => {
  it('names what differs', () => {
    expect(changedFields(definition, { ...definition, tags: ['x', 'y'], retry: { ...retry, limit: 4 } })).toEqual([
      'tags',
      'retries',
    ])
  })

  it('is empty for what is the same', () => {
    expect(changedFields(definition, structuredClone(definition))).toEqual([])
  })
})
