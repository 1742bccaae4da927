import type { Membership } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { findProject, initials, meOf } from './me.ts'

const user = { id: 'usr_1', email: 'ada.byron@acme.example', name: 'Ada Byron' }
const membership = (tenant: string, project: string): Membership => ({
  tenant: { id: `ten_${tenant}`, slug: tenant, name: tenant },
  project: { id: `prj_${project}`, slug: project, name: project, label: 'staging' },
  role: 'operator',
})
const me = meOf({
  user,
  memberships: [membership('acme', 'billing'), membership('globex', 'web'), membership('acme', 'web')],
})

describe('who is signed in', () => {
  it('sees projects gathered by tenant', () => {
    expect(me.tenants.map((tenant) => [tenant.slug, tenant.projects.map((project) => project.slug)])).toEqual([
      ['acme', ['billing', 'web']],
      ['globex', ['web']],
    ])
  })

  it('finds a project by its path only within its tenant', () => {
    expect(findProject(me, 'acme', 'billing')?.project.id).toBe('prj_billing')
    expect(findProject(me, 'globex', 'billing')).toBeUndefined()
    expect(findProject(me, 'nobody', 'web')).toBeUndefined()
  })

  it('is shown in two letters', () => {
    expect(initials(user)).toBe('AB')
    expect(initials({ ...user, name: '' })).toBe('AB')
    expect(initials({ ...user, name: 'Ada' })).toBe('A')
  })
})
