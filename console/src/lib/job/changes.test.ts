import { describe, expect, it } from 'vitest'
import type { JobVersionSummary } from '#lib/wire.ts'
import { changedFields } from './changes.ts'

const definition: JobVersionSummary['definition'] = {
  name: 'a',
  description: null,
  externalId: null,
  tags: ['x'],
  schedule: null,
  queue: 'default',
  overlap: 'skip',
  catchUp: 'one',
  retry: { limit: 5 },
  priority: 3,
}

describe('changedFields', () => {
  it('names what differs', () => {
    expect(changedFields(definition, { ...definition, tags: ['x', 'y'], retry: { limit: 4 } })).toEqual(['tags', 'retries'])
  })

  it('is empty for what is the same', () => {
    expect(changedFields(definition, structuredClone(definition))).toEqual([])
  })
})
