import { afterAll, beforeAll, expect, test } from 'vitest'
import { inAnHour, type Page, type Run, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

test('paging by seven while rows are added: every earlier row comes exactly once', async () => {
  const { client } = await api.tenant()
  const run = { target, dueAt: inAnHour() }
  const made = await client.post<{ data: Run[] }>('/v1/runs/batch', { runs: Array.from({ length: 1_000 }, () => run) })
  const before = new Set(made.body.data.map(({ id }) => id))
  const seen: string[] = []
  const cursors = new Set<string>()
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<Run> = (await client.get<Page<Run>>(`/v1/runs?limit=7${cursor === '' ? '' : `&cursor=${cursor}`}`))
      .body
    seen.push(...page.data.map(({ id }) => id))
    cursor = page.nextCursor
    if (cursor === null) break
    expect(cursors.has(cursor)).toBe(false)
    cursors.add(cursor)
    if (cursors.size % 20 === 0) await client.post('/v1/runs', run)
  }
  expect(seen).toHaveLength(new Set(seen).size)
  expect(new Set(seen)).toEqual(before)
})

test.each(['/v1/runs', '/v1/jobs', '/v1/queues', '/v1/projects', '/v1/keys'])(
  '%s refuses a cursor it never gave out',
  async (path) => {
    const { client } = await api.tenant()
    for (const cursor of ['x', '%00', 'AAAA', '../../etc/passwd', "' or 1=1 --"]) {
      const { status, body } = await client.get(`${path}?cursor=${encodeURIComponent(cursor)}`)
      expect([status, body.code]).toEqual([400, 'malformed-request'])
    }
  },
)
