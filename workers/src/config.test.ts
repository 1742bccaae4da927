import { usualShares } from '@meridian/core/flow/classes'
import { expect, test } from 'vitest'
import { readConfig, roleNames, sharesOf } from './config.ts'

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

test('classes of queues have their shares, which are no more than there is', () => {
  expect(sharesOf(readConfig(least, []))).toEqual(usualShares)
  const given = { CLASS_CRITICAL_PERCENT: '40', CLASS_STANDARD_PERCENT: '40', CLASS_BULK_PERCENT: '20' }
  expect(sharesOf(readConfig({ ...least, ...given, CLASS_SPARE_PERCENT: '0' }, []))).toEqual({
    reserved: { critical: 40, standard: 40, bulk: 20 },
    spare: 0,
  })
  const refused = (more: Record<string, string>) => () => readConfig({ ...least, ...more }, [])
  expect(refused({ ...given, CLASS_BULK_PERCENT: '21' })).toThrow(/more than 100 together/)
  expect(refused({ CLASS_SPARE_PERCENT: '26' })).toThrow(/CLASS_SPARE_PERCENT is more/)
  expect(refused({ CLASS_BULK_PERCENT: '0' })).toThrow(/CLASS_BULK_PERCENT: /)
})

test('roles are chosen by name', () => {
  expect(readConfig(least, ['--roles=executor,relay']).roles).toEqual(['executor', 'relay'])
  expect(() => readConfig(least, ['--roles=executor,chef'])).toThrow(/chef/)
})
