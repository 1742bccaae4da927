import pg from 'pg'
import { virtualPool } from '../clock/virtual.ts'
import { systemClock } from '../kernel/clock.ts'
import { nilUuid, type Uuid, uuidv7 } from '../kernel/ids.ts'
import { audit } from './audit.ts'
import { type Role, scopes, tenantScopes } from './scope.ts'
import { hashToken, isToken, tokenHint } from './token.ts'

export interface TenantPlan {
  slug: string
  name: string
  /** At least one. The API key belongs to the first. */
  projects: { slug: string; name: string; label: 'production' | 'staging' | 'development'; hasTestClock?: boolean }[]
  /** `issuer` and `subject` are what the identity provider calls them. */
  people: { email: string; name: string; role: Role; issuer: string; subject: string }[]
  /** `isOperator`: it may also do what no tenant may. */
  apiKey: { name: string; secret: string; isOperator?: boolean }
  /** The most runs of the tenant that may be queued or running at once. */
  concurrency?: number | undefined
  /** How many of its runs may wait before its schedules start no more; left out, what it is, at first any number. */
  waitingMax?: number | undefined
}

export interface BootstrappedTenant {
  tenantId: Uuid
  /** The first project's. */
  projectId: Uuid
  projects: { slug: string; id: Uuid }[]
  /** In the order of `people`. */
  userIds: Uuid[]
  apiKeyId: Uuid
}

const tenantConcurrency = 10_000
/** Of every queue nobody has set a limit for. */
export const defaultQueueConcurrency = 1_000

/**
 * Makes a tenant with its projects, people and first API key, in one transaction; what is there already is kept as
 * it is, except for names and a limit that is asked for. Only whoever owns the database can do this.
 * @param ownerUrl a login that owns the tables
 */
export async function bootstrapTenant(ownerUrl: string, plan: TenantPlan): Promise<BootstrappedTenant> {
  if (!isToken('mk', plan.apiKey.secret)) throw new Error('an API key is mk_ and 43 base64url characters')
  if (plan.projects.length === 0) throw new Error('a tenant needs a project')
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    await client.query('begin')
    await client.query("select pg_advisory_xact_lock(hashtext('meridian-bootstrap'))")
    const tenant = await makeTenant(new Writer(client), plan)
    await client.query('commit')
    return tenant
  } finally {
    await client.end()
  }
}

/** Inserts what is missing and remembers it for the audit line: by ids, since that line outlives the people. */
class Writer {
  readonly client: pg.Client
  readonly made: string[] = []

  constructor(client: pg.Client) {
    this.client = client
  }

  /** The id of the row that `find` finds, else of a new one. */
  async ensure(noun: string, find: Statement, insert: (id: Uuid) => Statement): Promise<Uuid> {
    const found = (await this.client.query<{ id: Uuid }>(...find)).rows[0]
    if (found !== undefined) return found.id
    const id = uuidv7(systemClock.nowMs())
    await this.add(`${noun} ${id}`, insert(id))
    return id
  }

  /** Runs an insert that does nothing when the row is there. */
  async add(what: string, insert: Statement): Promise<void> {
    if ((await this.client.query(...insert)).rowCount === 1) this.made.push(what)
  }
}

type Statement = [text: string, values: unknown[]]

async function makeTenant(write: Writer, plan: TenantPlan): Promise<BootstrappedTenant> {
  const { client } = write
  const tenantId = await write.ensure(
    'tenant',
    ['update tenants set name = $2 where slug = $1 returning id', [plan.slug, plan.name]],
    (id) => ['insert into tenants (id, slug, name) values ($1, $2, $3)', [id, plan.slug, plan.name]],
  )
  await client.query(
    `insert into limits (tenant_id, queue_id, concurrency, waiting_max) values ($1, $2, coalesce($3::int, $4), $5)
     on conflict (tenant_id, queue_id) do update set concurrency = coalesce($3, limits.concurrency),
       waiting_max = coalesce($5, limits.waiting_max)`,
    [tenantId, nilUuid, plan.concurrency ?? null, tenantConcurrency, plan.waitingMax ?? null],
  )
  const projects: { slug: string; id: Uuid }[] = []
  for (const project of plan.projects)
    projects.push({ slug: project.slug, id: await makeProject(write, tenantId, project) })
  const userIds: Uuid[] = []
  for (const person of plan.people) userIds.push(await makePerson(write, tenantId, person))
  const projectId = projects[0]?.id ?? nilUuid
  const apiKeyId = await makeApiKey(write, tenantId, projectId, plan.apiKey)
  if (write.made.length > 0) {
    const tx = { client, tenantId, projectId, clock: systemClock, actor: { type: 'system' }, requestId: null } as const
    await audit(tx, 'tenant.bootstrap', { subject: tenantId, data: { made: write.made } })
  }
  return { tenantId, projectId, projects, userIds, apiKeyId }
}

async function makeProject(write: Writer, tenantId: Uuid, project: TenantPlan['projects'][number]): Promise<Uuid> {
  const projectId = await write.ensure(
    'project',
    [
      'update projects set name = $3 where tenant_id = $1 and slug = $2 returning id',
      [tenantId, project.slug, project.name],
    ],
    (id) => [
      'insert into projects (tenant_id, id, slug, name, label, has_test_clock) values ($1, $2, $3, $4, $5, $6)',
      [tenantId, id, project.slug, project.name, project.label, project.hasTestClock ?? false],
    ],
  )
  const queueId = await write.ensure(
    'queue',
    ["select id from queues where tenant_id = $1 and project_id = $2 and name = 'default'", [tenantId, projectId]],
    (id) => [
      `insert into queues (tenant_id, id, project_id, name, pool) values ($1, $2, $3, 'default',
         (select case when has_test_clock then ${virtualPool} else 1 end from projects where tenant_id = $1 and id = $3))`,
      [tenantId, id, projectId],
    ],
  )
  await write.client.query(
    'insert into limits (tenant_id, queue_id, concurrency) values ($1, $2, $3) on conflict do nothing',
    [tenantId, queueId, defaultQueueConcurrency],
  )
  return projectId
}

async function makePerson(write: Writer, tenantId: Uuid, person: TenantPlan['people'][number]): Promise<Uuid> {
  const userId = await write.ensure(
    'user',
    ['update users set name = $2 where lower(email) = lower($1) returning id', [person.email, person.name]],
    (id) => ['insert into users (id, email, name) values ($1, $2, $3)', [id, person.email, person.name]],
  )
  await write.add(`identity of ${userId}`, [
    'insert into identities (issuer, subject, user_id) values ($1, $2, $3) on conflict do nothing',
    [person.issuer, person.subject, userId],
  ])
  await write.add(`membership of ${userId} as ${person.role}`, [
    'insert into memberships (tenant_id, user_id, role) values ($1, $2, $3) on conflict do nothing',
    [tenantId, userId, person.role],
  ])
  return userId
}

const makeApiKey = (
  write: Writer,
  tenantId: Uuid,
  projectId: Uuid,
  { name, secret, isOperator = false }: TenantPlan['apiKey'],
): Promise<Uuid> =>
  write.ensure(
    'api key',
    [
      'update api_keys set name = $3 where tenant_id = $1 and hash = $2 returning id',
      [tenantId, hashToken(secret), name],
    ],
    (id) => [
      `insert into api_keys (tenant_id, id, project_id, name, hash, hint, scopes, created_by)
       values ($1, $2, $3, $4, $5, $6, $7, 'system')`,
      [
        tenantId,
        id,
        projectId,
        name,
        hashToken(secret),
        tokenHint(secret),
        isOperator ? [...scopes] : [...tenantScopes],
      ],
    ],
  )
