import { describe, expect, it } from 'vitest'
import { callbackFormOf, callbacksOf, callbackWords } from './callback-form.ts'

const callbacks = {
  success: { url: 'https://example.com/done', headers: { authorization: 'Bearer 1' } },
  failure: { url: 'https://example.com/failed', headers: {} },
}

describe('who is told of an end', () => {
  it('opens and saves unchanged', () => {
    for (const each of [undefined, callbacks, { failure: callbacks.failure }])
      expect(callbacksOf(callbackFormOf(each))).toEqual(each)
  })

  it('is nobody where no URL is left', () => {
    const form = callbackFormOf(callbacks)
    form.success.url = ' '
    expect(callbacksOf(form)).toEqual({ failure: callbacks.failure })
  })

  it('is told in words', () => {
    expect(callbackWords(undefined)).toEqual([])
    expect(callbackWords(callbacks)).toEqual([
      'Of a success: https://example.com/done',
      'Of a failure: https://example.com/failed',
    ])
  })
})
