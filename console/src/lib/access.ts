import type { Scope as AnyScope, Role } from '@meridian/sdk'
import { createContext } from 'svelte'

/** What people may do. What operators of the installation may do besides is no matter of a tenant's console. */
export const scopes = [
  'jobs:read',
  'jobs:write',
  'runs:read',
  'runs:write',
  'payloads:read',
  'queues:read',
  'queues:write',
  'calendars:read',
  'calendars:write',
  'projects:read',
  'projects:write',
  'keys:read',
  'keys:write',
  'operations:read',
  'operations:write',
] as const satisfies AnyScope[]
export type Scope = (typeof scopes)[number]

export type { Role }

const reading = scopes.filter((scope) => scope.endsWith(':read') && scope !== 'payloads:read')

const scopesOfRole: Record<Role, readonly Scope[]> = {
  owner: scopes,
  admin: scopes,
  operator: [
    ...reading,
    'jobs:write',
    'runs:write',
    'queues:write',
    'calendars:write',
    'payloads:read',
    'operations:write',
  ],
  viewer: reading,
  auditor: reading,
}

/** What the open project lets this person do. The API decides; this only spares them a refusal. */
export interface Access {
  role: Role
  /** The path that every page of the project begins with: `/acme/billing`. */
  base: string
}

/** Whether a role carries a scope. An unknown role carries none. */
export function may(role: Role, scope: Scope): boolean {
  return scopesOfRole[role]?.includes(scope) ?? false
}

/** Why a control is blocked, in words, or undefined when it is not. */
export function whyNot(role: Role, scope: Scope): string | undefined {
  return may(role, scope) ? undefined : `Needs the permission ${scope}; your role here is ${role}`
}

export const [getAccess, setAccess] = createContext<Access>()
