import { describe, expect, it } from 'vitest'
import { errorLabel, errorSentence } from './error-words.ts'

describe('errors of runs', () => {
  it('are said in a sentence', () => {
    expect(errorSentence('http-status', 503)).toBe('The target answered 503.')
    expect(errorSentence('timeout', null)).toBe('The target did not answer in time.')
    expect(errorSentence('brand-new', null)).toBe('It failed with brand-new.')
  })

  it('fit a column', () => {
    expect(errorLabel('http-status', 503)).toBe('503')
    expect(errorLabel('connect-failed', null)).toBe('connect failed')
    expect(errorLabel(null, 200)).toBe('200')
    expect(errorLabel(null, null)).toBe('')
  })
})
