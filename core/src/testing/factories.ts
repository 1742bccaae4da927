import { randomBytes } from 'node:crypto'
import { type BootstrappedTenant, bootstrapTenant, type TenantPlan } from '../access/bootstrap.ts'
import { type Scope, scopes } from '../access/scope.ts'
import { newToken } from '../access/token.ts'
import type { Ctx } from '../db/context.ts'
import { systemClock } from '../kernel/clock.ts'
import type { TestDb } from './test-db.ts'

export interface TestTenant extends BootstrappedTenant {
  slug: string
  /** The secret of its API key, which holds every scope. */
  apiKey: string
}

/** A tenant of one's own: one project `main`, one owner, one API key, the default limits; change what matters. */
export async function createTenant(db: TestDb, plan: Partial<TenantPlan> = {}): Promise<TestTenant> {
  const slug = plan.slug ?? `t-${randomBytes(6).toString('hex')}`
  const apiKey = plan.apiKey ?? { name: 'test', secret: newToken('mk'), isOperator: true }
  const made = await bootstrapTenant(db.ownerUrl, {
    slug,
    name: plan.name ?? slug,
    projects: plan.projects ?? [{ slug: 'main', name: 'Main', label: 'development' }],
    people: plan.people ?? [
      {
        email: `owner@${slug}.example`,
        name: 'Olive Owner',
        role: 'owner',
        issuer: 'https://id.example',
        subject: `owner-${slug}`,
      },
    ],
    apiKey,
    concurrency: plan.concurrency,
    waitingMax: plan.waitingMax,
  })
  return { ...made, slug, apiKey: apiKey.secret }
}

/** The context of the tenant's API key, as the api would make it. */
export const testCtx = (
  db: TestDb,
  tenant: Pick<TestTenant, 'tenantId' | 'projectId' | 'apiKeyId'>,
  changes: Partial<Omit<Ctx, 'scopes'>> & { scopes?: readonly Scope[] } = {},
): Ctx => ({
  pool: db.app,
  keyRing: db.keyRing,
  clock: systemClock,
  tenantId: tenant.tenantId,
  projectId: tenant.projectId,
  actor: { type: 'key', id: tenant.apiKeyId },
  requestId: null,
  ...changes,
  scopes: new Set(changes.scopes ?? scopes),
})
