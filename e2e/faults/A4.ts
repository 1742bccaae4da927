import { randomUUID } from 'node:crypto'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

interface Page {
  data: { id: string }[]
  nextCursor: string | null
}

export const row: Row = {
  title: 'paging by seven while rows are added: every earlier row comes once, and a forged cursor is refused',
  async run(world) {
    const queue = `pages-${randomUUID()}`
    const batches = world.profile.pick(2, 10)
    for (let batch = 0; batch < batches; batch += 1) await accept(world, queue, 1_000)
    const seen: string[] = []
    const cursors = new Set<string>()
    let added = 0
    for (let cursor: string | null = ''; cursor !== null; ) {
      const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const page: Page = await world.api.ask('GET', `/v1/runs?queue=${queue}&limit=7${from}`)
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor
      ensure(cursor === null || !cursors.has(cursor), 'a cursor came twice')
      if (cursor !== null) cursors.add(cursor)
      if (cursors.size % 20 === 0) {
        await accept(world, queue, 1)
        added += 1
      }
    }
    ensure(new Set(seen).size === seen.length, `${seen.length - new Set(seen).size} runs came twice`)
    ensure(seen.length >= batches * 1_000 && seen.length <= batches * 1_000 + added, `${seen.length} runs were listed`)
    await refuseForged(world, queue, [...cursors][0] ?? '')
  },
}

async function accept(world: World, queue: string, count: number): Promise<void> {
  const dueAt = new Date(Date.now() + 3_600_000).toISOString()
  const run = { target: { type: 'http', url: world.receiver.url(queue, 'ok') }, queue, dueAt }
  await world.api.ask('POST', '/v1/runs/batch', { runs: Array.from({ length: count }, () => run) })
}

async function refuseForged(world: World, queue: string, cursor: string): Promise<void> {
  const forged = ['x', '%00', `${cursor}x`, cursor.slice(1), cursor.slice(0, -1), '../../etc/passwd', "' or 1=1 --"]
  for (const text of forged) {
    const { status } = await world.api.send('GET', `/v1/runs?queue=${queue}&cursor=${encodeURIComponent(text)}`)
    ensure(status === 400, `the forged cursor ${JSON.stringify(text)} was answered ${status}`)
  }
}
