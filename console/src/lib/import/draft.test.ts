import type { Import } from '@meridian/sdk'
import { expect, test } from 'vitest'
import { draftAfter, type ImportDraft, importOf } from './draft.ts'

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
  vanished: 'keep',
}

test('an empty source asks for nothing', () => expect(importOf({ ...draft, source: ' \n' })).toBeUndefined())

test('what is left empty is left out', () => {
  expect(importOf(draft)).toEqual({ source: '@daily x', timezone: 'Europe/Berlin', mode: 'shadow', prefix: 'web-1' })
})

test('an import again is of the same source, and says what becomes of what is gone', () => {
  const earlier = { prefix: 'web-1:', format: 'crontab', fileName: 'cron.txt', timezone: 'UTC' } as Import
  const again = { ...draftAfter(earlier, 'Europe/Berlin'), source: '@daily x', vanished: 'archive' as const }
  expect(importOf(again)).toEqual({
    source: '@daily x',
    format: 'crontab',
    fileName: 'cron.txt',
    timezone: 'UTC',
    mode: 'shadow',
    prefix: 'web-1',
    vanished: 'archive',
  })
  expect(draftAfter({ ...earlier, prefix: 'crontab:' }, 'UTC').prefix).toBe('')
  expect(draftAfter(undefined, 'Europe/Berlin')).toEqual({ ...draft, source: '', prefix: '' })
})

test('a target carries its header', () => {
  const { target } = importOf({ ...draft, url: ' https://a.example/run ', authorization: 'Bearer x' }) ?? {}
  expect(target).toEqual({ url: 'https://a.example/run', method: 'POST', headers: { Authorization: 'Bearer x' } })
})
