import { expect, test } from 'vitest'
import { createLog } from './log.ts'
import { createShutdown } from './shutdown.ts'

const log = createLog({ service: 'test', level: 'silent' })

test('steps run last added first, one failing step keeps none of the others back, and the signal aborts first', async () => {
  const order: string[] = []
  const shutdown = createShutdown({ log, graceMs: 60_000 })
  shutdown.onStop('database', () => order.push(`database ${shutdown.signal.aborted}`))
  shutdown.onStop('broken', () => Promise.reject(new Error('no')))
  shutdown.onStop('server', async () => order.push('server'))
  await Promise.all([shutdown.stop('test'), shutdown.stop('again')])
  expect(order).toEqual(['server', 'database true'])
})

test('a step that never ends holds the stop up only until the time is up', async () => {
  const shutdown = createShutdown({ log, graceMs: 20 })
  shutdown.onStop('stuck', () => new Promise(() => undefined))
  await expect(shutdown.stop('test')).resolves.toBeUndefined()
})

test('SIGTERM starts the stop', async () => {
  const shutdown = createShutdown({ log, graceMs: 60_000 })
  process.emit('SIGTERM', 'SIGTERM')
  await shutdown.done
  expect(shutdown.signal.aborted).toBe(true)
})
