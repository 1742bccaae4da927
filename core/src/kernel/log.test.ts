import { expect, test } from 'vitest'
import { createLog } from './log.ts'

test('an entry is one JSON line with the time, the level by name and the service, and no secret', () => {
  const lines: string[] = []
  const log = createLog({ service: 'workers', level: 'info', destination: { write: (line) => void lines.push(line) } })
  log.info(
    { runId: 'run_1', headers: { authorization: 'Bearer x1' }, request: { headers: { cookie: 'x2' } }, apiKey: 'x3' },
    'done',
  )
  log.debug('not written')
  expect(lines).toHaveLength(1)
  const entry = JSON.parse(lines[0] ?? '')
  expect(entry).toMatchObject({ level: 'info', service: 'workers', runId: 'run_1', msg: 'done' })
  expect(new Date(entry.time).toISOString()).toBe(entry.time)
  expect(lines[0]).not.toMatch(/x1|x2|x3/)
})
