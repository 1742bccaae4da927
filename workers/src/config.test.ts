import { expect, test } from 'vitest'
import { readConfig, roleNames } from './config.ts'

const least = {
  ENGINE_DATABASE_URL: 'postgres://engine@127.0.0.1/meridian',
  REDIS_URL: 'redis://127.0.0.1:6379',
  KEY_FILE: '/keys/local',
}

test('the least there must be, and what holds without a word', () => {
  const config = readConfig(least, [])
  expect(config).toMatchObject({
    ALLOW_PRIVATE_TARGETS: false,
    HOST: '127.0.0.1',
    LOG_LEVEL: 'info',
    EXECUTOR_CAPACITY: 512,
  })
  expect(config.roles).toEqual(roleNames)
})

test('private targets are allowed by the word true only', () => {
  expect(readConfig({ ...least, ALLOW_PRIVATE_TARGETS: 'true' }, []).ALLOW_PRIVATE_TARGETS).toBe(true)
  expect(readConfig({ ...least, ALLOW_PRIVATE_TARGETS: '' }, []).ALLOW_PRIVATE_TARGETS).toBe(false)
  expect(() => readConfig({ ...least, ALLOW_PRIVATE_TARGETS: 'yes' }, [])).toThrow(/ALLOW_PRIVATE_TARGETS/)
})

test('all problems are named at once', () => {
  const read = () => readConfig({ REDIS_URL: 'nonsense', EXECUTOR_CAPACITY: '0', LOG_LEVEL: 'loud' }, [])
  for (const name of [
    'ENGINE_DATABASE_URL: is missing',
    'KEY_FILE: is missing',
    'REDIS_URL: ',
    'EXECUTOR_CAPACITY: ',
    'LOG_LEVEL: ',
  ]) {
    expect(read).toThrow(new RegExp(name))
  }
})

test('roles are chosen by name', () => {
  expect(readConfig(least, ['--roles=executor,relay']).roles).toEqual(['executor', 'relay'])
  expect(() => readConfig(least, ['--roles=executor,chef'])).toThrow(/chef/)
})
