import { describe, expect, it } from 'vitest'
import { scopes } from '#lib/access.ts'
import { scopeMeanings, scopeSets, scopeWords } from './scope-words.ts'

describe('scopes', () => {
  it('all have a meaning', () => {
    expect(Object.keys(scopeMeanings)).toEqual([...scopes])
  })

  it('are named as a set, in whatever order they come', () => {
    for (const set of scopeSets) expect(scopeWords(set.scopes.toReversed())).toBe(set.words)
  })

  it('are listed when they are no set', () => {
    expect(scopeWords(['jobs:read', 'keys:read'])).toBe('jobs:read, keys:read')
  })
})
