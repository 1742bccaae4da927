import { AppError } from '../kernel/errors.ts'

/** What a credential may do. A key carries a list of them; a role stands for a list of them. */
export const scopes = [
  'jobs:read',
  'jobs:write',
  'runs:read',
  'runs:write',
  'payloads:read',
  'queues:read',
  'queues:write',
  'limits:pin',
  'shares:write',
  'calendars:read',
  'calendars:write',
  'projects:read',
  'projects:write',
  'keys:read',
  'keys:write',
  'operations:read',
  'operations:write',
] as const
export type Scope = (typeof scopes)[number]

/** What only operators may do: no role stands for it, and a tenant can't give it to a key. */
export const operatorScopes: ReadonlySet<Scope> = new Set(['limits:pin', 'shares:write'])

/** All that a tenant may do in its own projects. */
export const tenantScopes: readonly Scope[] = scopes.filter((scope) => !operatorScopes.has(scope))

export const roles = ['owner', 'admin', 'operator', 'viewer', 'auditor'] as const
export type Role = (typeof roles)[number]

const readOnly: Scope[] = [
  'jobs:read',
  'runs:read',
  'queues:read',
  'calendars:read',
  'projects:read',
  'keys:read',
  'operations:read',
]

/** Seeing payloads is a permission of its own: a viewer sees that a run happened, not what it carried. */
export const roleScopes: Record<Role, ReadonlySet<Scope>> = {
  owner: new Set(tenantScopes),
  admin: new Set(tenantScopes),
  operator: new Set([
    ...readOnly,
    'jobs:write',
    'runs:write',
    'queues:write',
    'calendars:write',
    'payloads:read',
    'operations:write',
  ]),
  viewer: new Set(readOnly),
  auditor: new Set(readOnly),
}

/** Throws `forbidden`, naming the missing scope. */
export function requireScope(ctx: { scopes: ReadonlySet<Scope> }, scope: Scope): void {
  if (!ctx.scopes.has(scope)) throw new AppError('forbidden', `This needs the scope ${scope}.`)
}
