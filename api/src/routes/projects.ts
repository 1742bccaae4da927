import { withIdempotency } from '@meridian/core/access/idempotency'
import {
  createProject,
  getProject,
  listProjects,
  projectLabelValue,
  projectNameValue,
  projectSlugValue,
  updateProject,
} from '@meridian/core/access/projects'
import { z } from 'zod'
import { expectedVersion } from '../http/etag.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import { projectToWire, projectWire } from '../wire/access.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { pathId } from '../wire/values.ts'

const projectParams = z.object({ projectId: pathId('prj') })

const create = operation({
  id: 'createProject',
  method: 'post',
  path: '/v1/projects',
  tag: 'Projects',
  summary: 'Create a project',
  description: 'For people: an API key belongs to one project for good.',
  access: needs('projects:write'),
  body: z
    .strictObject({
      slug: projectSlugValue,
      name: projectNameValue,
      label: projectLabelValue.default('production'),
      requiresIdempotencyKey: z
        .boolean()
        .default(false)
        .meta({ description: 'Refuses creates without `Idempotency-Key`.' }),
      hasTestClock: z
        .boolean()
        .default(false)
        .meta({ description: 'For tests, for good: what is due there follows a clock that is set by the API.' }),
    })
    .meta({ id: 'NewProject' }),
  example: { slug: 'billing', name: 'Billing', label: 'staging' },
  isCreate: true,
  answer: { status: 201, description: 'The project.', schema: projectWire },
  problems: ['conflict'],
  async handle({ ctx, body, idempotency }) {
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const project = await createProject(tx, body)
      return { subject: project.id, answer: projectToWire(project) }
    })
    return new Reply(answer, {
      version: answer.version,
      ...(replayed ? { headers: { 'idempotency-replayed': 'true' } } : {}),
    })
  },
})

const list = operation({
  id: 'listProjects',
  method: 'get',
  path: '/v1/projects',
  tag: 'Projects',
  summary: 'List the projects of the organisation',
  description: 'A key sees its own.',
  access: needs('projects:read'),
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of projects, oldest first.', schema: pageOf(projectWire) },
  handle: async ({ ctx, query }) => toPage(await listProjects(ctx, toPageRequest(query)), projectToWire),
})

const get = operation({
  id: 'getProject',
  method: 'get',
  path: '/v1/projects/{projectId}',
  tag: 'Projects',
  summary: 'Get a project',
  access: needs('projects:read'),
  params: projectParams,
  hasEtag: true,
  answer: { status: 200, description: 'The project.', schema: projectWire },
  async handle({ ctx, params }) {
    const project = await getProject(ctx, params.projectId)
    return new Reply(projectToWire(project), { version: project.version })
  },
})

const update = operation({
  id: 'updateProject',
  method: 'patch',
  path: '/v1/projects/{projectId}',
  tag: 'Projects',
  summary: 'Change a project',
  access: needs('projects:write'),
  params: projectParams,
  body: z
    .strictObject({
      name: projectNameValue.optional(),
      label: projectLabelValue.optional(),
      requiresIdempotencyKey: z.boolean().optional(),
    })
    .meta({ id: 'ProjectChanges' }),
  example: { name: 'Billing and invoices' },
  isGuarded: true,
  answer: { status: 200, description: 'The project.', schema: projectWire },
  async handle({ ctx, params, body, header, caller, services }) {
    const changes = { ...body, expectedVersion: expectedVersion(header('if-match')) }
    const project = await updateProject(ctx, params.projectId, changes)
    // Whether keys are required is known per credential; here at least it holds from the next request on.
    services.authenticator.forget(caller.token)
    return new Reply(projectToWire(project), { version: project.version })
  },
})

export const projectOperations = [create, list, get, update]
