import { expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigError, parseConfig } from './config.ts'

const schema = z.object({
  PORT: z.coerce.number().int().max(65_535),
  DATABASE_URL: z.url(),
  LOG_LEVEL: z.string().default('info'),
})

test('an empty variable counts as absent, so its default holds', () => {
  const config = parseConfig(schema, {
    PORT: '80',
    DATABASE_URL: 'postgres://localhost/x',
    LOG_LEVEL: '',
    OTHER: 'ignored',
  })
  expect(config).toEqual({ PORT: 80, DATABASE_URL: 'postgres://localhost/x', LOG_LEVEL: 'info' })
})

test('every problem is named at once, and no value is repeated', () => {
  const parse = () => parseConfig(schema, { PORT: '99999999' })
  expect(parse).toThrow(ConfigError)
  expect(parse).toThrow(/PORT: /)
  expect(parse).toThrow(/DATABASE_URL: is missing/)
  expect(parse).not.toThrow(/99999999/)
})
