import { Meridian } from '@meridian/sdk'
import { afterAll, expect, test } from 'vitest'
import { Person } from './person.ts'

const person = await Person.meet()
afterAll(() => person.leave())

test('a response too long for its row is kept whole, and can be downloaded', async () => {
  const text = 'meridian '.repeat(20_000)
  const target = { ...person.target('echo'), body: text }
  const { id } = await person.api.ask<{ id: string }>('POST', '/v1/runs', { target })
  expect(await person.ended(id)).toMatchObject({ status: 'succeeded' })

  const shown = await person.api.ask<{ body: string; isTruncated: boolean; objectKey: string | null }>(
    'GET',
    `/v1/runs/${id}/response`,
  )
  expect(shown.isTruncated).toBe(false)
  expect(shown.objectKey).toContain(id)
  expect(shown.body.length).toBeLessThan(text.length)

  const meridian = new Meridian({ apiKey: person.stack.apiKey, baseUrl: person.stack.urls.api ?? '' })
  const body = await meridian.runs.responseBody(id)
  const echoed = JSON.parse(await body.text()) as { body: string }
  expect(echoed.body).toBe(text)
})
