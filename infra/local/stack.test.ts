import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openHome, remove } from './home.ts'
import { keepPorts } from './ports.ts'
import { keepSecrets } from './secrets.ts'
import { planStack } from './stack.ts'

const home = openHome(mkdtempSync(join(tmpdir(), 'meridian-stack-')))
afterAll(() => remove(home.path))

const ports = await keepPorts(home)
const secrets = keepSecrets(home)

test('with nothing given, everything is embedded and on the loopback address', () => {
  const stack = planStack(home, ports, secrets, {})
  expect(Object.values(stack.runs)).toEqual([true, true, true, true, true])
  for (const url of [...Object.values(stack.urls), stack.environment.DATABASE_URL, stack.environment.REDIS_URL]) {
    expect(new URL(url ?? '').hostname).toBe('127.0.0.1')
  }
  expect(stack.people.map(({ role }) => role)).toEqual(['owner', 'operator', 'viewer'])
})

test('a service that the environment names is used and not started', () => {
  const given = {
    DATABASE_URL: 'postgres://app@db/meridian',
    ENGINE_DATABASE_URL: 'postgres://engine@db/meridian',
    OWNER_DATABASE_URL: 'postgres://owner@db/meridian',
    REDIS_URL: 'redis://cache',
    OIDC_ISSUER: 'https://id.example',
    OIDC_CLIENT_ID: 'ours',
    OIDC_OWNER_SUBJECT: 'someone',
    OIDC_OWNER_EMAIL: 'someone@example.com',
    SMTP_URL: 'smtp://mail',
    OBJECT_STORE_URL: 'https://s3.example',
  }
  const stack = planStack(home, ports, secrets, given)
  expect(Object.values(stack.runs)).toEqual([false, false, false, false, false])
  const { OIDC_OWNER_SUBJECT: _subject, OIDC_OWNER_EMAIL: _email, ...handedOn } = given
  expect(stack.environment).toMatchObject(handedOn)
  expect(stack.people).toEqual([expect.objectContaining({ subject: 'someone', role: 'owner' })])
  expect(stack.issuer).toBe('https://id.example')
})

test('half of what a real service needs is refused with a sentence', () => {
  expect(() => planStack(home, ports, secrets, { DATABASE_URL: 'postgres://db' })).toThrow('ENGINE_DATABASE_URL')
  expect(() => planStack(home, ports, secrets, { OIDC_ISSUER: 'https://id.example' })).toThrow('OIDC_OWNER_SUBJECT')
})
