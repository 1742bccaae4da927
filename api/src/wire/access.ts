import type { ApiKey } from '@meridian/core/access/keys'
import { type Project, projectLabels } from '@meridian/core/access/projects'
import { roles } from '@meridian/core/access/scope'
import type { Membership } from '@meridian/core/access/sessions'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { scope } from './components.ts'
import { actor, instant, toActor, toInstant, toInstantOrNull, wireId } from './values.ts'

export const apiKeyWire = z
  .strictObject({
    id: wireId('key'),
    name: z.string(),
    hint: z.string().meta({ description: 'The last characters of the secret.', examples: ['x7Qf'] }),
    scopes: z.array(scope),
    createdBy: actor,
    createdAt: instant,
    expiresAt: instant.nullable(),
    revokedAt: instant.nullable(),
    lastUsedAt: instant.nullable().meta({ description: 'To the minute or so.' }),
  })
  .meta({ id: 'ApiKey' })

export const apiKeyToWire = (key: ApiKey): z.output<typeof apiKeyWire> => ({
  id: toWireId('key', key.id),
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  createdBy: toActor(key.createdBy),
  createdAt: toInstant(key.createdAt),
  expiresAt: toInstantOrNull(key.expiresAt),
  revokedAt: toInstantOrNull(key.revokedAt),
  lastUsedAt: toInstantOrNull(key.lastUsedAt),
})

export const createdApiKeyWire = z
  .strictObject({ ...apiKeyWire.shape, secret: z.string().meta({ description: 'The key itself. It is shown once.' }) })
  .meta({ id: 'CreatedApiKey' })

const label = z.enum(projectLabels)

export const projectWire = z
  .strictObject({
    id: wireId('prj'),
    slug: z.string(),
    name: z.string(),
    label,
    requiresIdempotencyKey: z.boolean(),
    hasTestClock: z.boolean().meta({ description: 'Made for tests: what is due follows a clock set by the API.' }),
    createdAt: instant,
    updatedAt: instant,
    version: z.int(),
  })
  .meta({ id: 'Project' })

export const projectToWire = (project: Project): z.output<typeof projectWire> => ({
  id: toWireId('prj', project.id),
  slug: project.slug,
  name: project.name,
  label: project.label,
  requiresIdempotencyKey: project.requiresIdempotencyKey,
  hasTestClock: project.hasTestClock,
  createdAt: toInstant(project.createdAt),
  updatedAt: toInstant(project.updatedAt),
  version: project.version,
})

const role = z.enum(roles).meta({ id: 'Role' })

export const membershipWire = z
  .strictObject({
    tenant: z.strictObject({ id: wireId('ten'), slug: z.string(), name: z.string() }),
    project: z.strictObject({ id: wireId('prj'), slug: z.string(), name: z.string(), label }),
    role,
  })
  .meta({ id: 'Membership', description: 'A project that a person may enter, and as what.' })

export const membershipToWire = (membership: Membership): z.output<typeof membershipWire> => ({
  tenant: { id: toWireId('ten', membership.tenantId), slug: membership.tenantSlug, name: membership.tenantName },
  project: {
    id: toWireId('prj', membership.projectId),
    slug: membership.projectSlug,
    name: membership.projectName,
    label: membership.label,
  },
  role: membership.role,
})
