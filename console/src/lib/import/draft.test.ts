import { expect, test } from 'vitest'
import { type ImportDraft, importOf } from './draft.ts'

const draft: ImportDraft = {
  source: '@daily x',
  fileName: '',
  format: '',
  timezone: 'Europe/Berlin',
  prefix: ' web-1 ',
  url: '',
  method: 'POST',
  authorization: '',
  mode: 'shadow',
}

test('an empty source asks for nothing', () => expect(importOf({ ...draft, source: ' \n' })).toBeUndefined())

test('what is left empty is left out', () => {
  expect(importOf(draft)).toEqual({ source: '@daily x', timezone: 'Europe/Berlin', mode: 'shadow', prefix: 'web-1' })
})

test('a target carries its header', () => {
  const { target } = importOf({ ...draft, url: ' https://a.example/run ', authorization: 'Bearer x' }) ?? {}
  expect(target).toEqual({ url: 'https://a.example/run', method: 'POST', headers: { Authorization: 'Bearer x' } })
})
