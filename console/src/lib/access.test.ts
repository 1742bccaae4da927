import { describe, expect, it } from 'vitest'
import { may, type Role, scopes, whyNot } from './access.ts'

describe('roles', () => {
  it.each(['owner', 'admin'] as const)('%s may do everything', (role) => {
    expect(scopes.every((scope) => may(role, scope))).toBe(true)
  })

  it('let a viewer read, and nothing else', () => {
    expect(scopes.filter((scope) => may('viewer', scope))).toEqual([
      'jobs:read',
      'runs:read',
      'queues:read',
      'calendars:read',
      'projects:read',
      'keys:read',
      'operations:read',
    ])
  })

  it('let an operator run things but not make keys', () => {
    expect(may('operator', 'runs:write')).toBe(true)
    expect(may('operator', 'payloads:read')).toBe(true)
    expect(may('operator', 'keys:write')).toBe(false)
  })

  it('that are unknown carry nothing', () => {
    expect(may('janitor' as Role, 'jobs:read')).toBe(false)
  })

  it('name what is missing', () => {
    expect(whyNot('viewer', 'jobs:write')).toBe('Needs the permission jobs:write; your role here is viewer')
    expect(whyNot('owner', 'jobs:write')).toBeUndefined()
  })
})
