import { asc, eq } from 'drizzle-orm'
import { type Ctx, withRead } from '../db/context.ts'
import { memberships, users } from '../db/schema.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type Role, requireScope } from './scope.ts'

/** A person of the tenant. */
export interface Member {
  userId: Uuid
  email: string
  name: string
  role: Role
  /** Since when. */
  createdAt: Date
}

/** The people of the caller's tenant, by address. */
export async function listMembers(ctx: Ctx): Promise<Member[]> {
  requireScope(ctx, 'projects:read')
  return withRead(ctx, (tx) =>
    tx.db
      .select({
        userId: users.id,
        email: users.email,
        name: users.name,
        role: memberships.role,
        createdAt: memberships.createdAt,
      })
      .from(memberships)
      .innerJoin(users, eq(users.id, memberships.userId))
      .where(eq(memberships.tenantId, tx.tenantId))
      .orderBy(asc(users.email)),
  )
}
