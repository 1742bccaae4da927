import type { Membership, Role, User } from '@meridian/sdk'

/** Who is signed in and where they may go, gathered from `GET /v1/me`. */
export interface Me {
  user: User
  tenants: Tenant[]
}

export interface Tenant {
  id: string
  slug: string
  name: string
  role: Role
  projects: Project[]
}

export type Project = Membership['project']

/** Memberships gathered by tenant, in the order they came. */
export function meOf({ user, memberships }: { user: User; memberships: readonly Membership[] }): Me {
  const tenants = new Map<string, Tenant>()
  for (const { tenant, project, role } of memberships) {
    const known = tenants.get(tenant.id)
    if (known) known.projects.push(project)
    else tenants.set(tenant.id, { ...tenant, role, projects: [project] })
  }
  return { user, tenants: [...tenants.values()] }
}

/** The project that a path names, among those the person may see. */
export function findProject(
  me: Me,
  tenantSlug: string,
  projectSlug: string,
): { tenant: Tenant; project: Project } | undefined {
  const tenant = me.tenants.find((candidate) => candidate.slug === tenantSlug)
  const project = tenant?.projects.find((candidate) => candidate.slug === projectSlug)
  return tenant && project ? { tenant, project } : undefined
}

/** Up to two letters for a person: of the name, or of the address when there is none. */
export function initials(user: User): string {
  const words = (user.name || user.email).split(/[\s@.]+/).filter(Boolean)
  return words
    .slice(0, 2)
    .map((word) => word.charAt(0).toUpperCase())
    .join('')
}
