import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  customType,
  date,
  doublePrecision,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  real,
  smallint,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core'

// Every table of the migrations, top to bottom as they make them. Keys, types and defaults are held against the
// migrated database by schema.test.ts; checks, indexes and partitions live in the migrations alone.

const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' })
const xid8 = customType<{ data: string; driverData: string }>({ dataType: () => 'xid8' })
const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' })

// Directory ---------------------------------------------------------------------------------------------------

export const regions = pgTable('regions', { id: text('id').primaryKey(), name: text('name').notNull() })

export const shards = pgTable('shards', {
  id: smallint('id').primaryKey(),
  regionId: text('region_id').notNull(),
  epoch: integer('epoch').notNull().default(1),
})

export const pools = pgTable('pools', {
  id: smallint('id').primaryKey(),
  shardId: smallint('shard_id').notNull(),
  regionId: text('region_id').notNull(),
  class: text('class').notNull(),
})

export const tenants = pgTable('tenants', {
  id: uuid('id').primaryKey(),
  slug: text('slug').notNull(),
  name: text('name').notNull(),
  shardId: smallint('shard_id').notNull().default(1),
  residency: text('residency'),
  createdAt: instant('created_at').notNull().defaultNow(),
})

export const users = pgTable('users', {
  id: uuid('id').primaryKey(),
  email: text('email').notNull(),
  name: text('name').notNull(),
  createdAt: instant('created_at').notNull().defaultNow(),
})

export const identities = pgTable(
  'identities',
  { issuer: text('issuer').notNull(), subject: text('subject').notNull(), userId: uuid('user_id').notNull() },
  (table) => [primaryKey({ columns: [table.issuer, table.subject] })],
)

export const memberships = pgTable(
  'memberships',
  {
    tenantId: uuid('tenant_id').notNull(),
    userId: uuid('user_id').notNull(),
    role: text('role', { enum: ['owner', 'admin', 'operator', 'viewer', 'auditor'] }).notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.userId] })],
)

export const sessions = pgTable('sessions', {
  tokenHash: bytea('token_hash').primaryKey(),
  id: uuid('id').notNull(),
  userId: uuid('user_id').notNull(),
  createdAt: instant('created_at').notNull().defaultNow(),
  lastSeenAt: instant('last_seen_at').notNull().defaultNow(),
  expiresAt: instant('expires_at').notNull(),
})

export const apiKeys = pgTable(
  'api_keys',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    name: text('name').notNull(),
    hash: bytea('hash').notNull(),
    hint: text('hint').notNull(),
    scopes: text('scopes').array().notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
    lastUsedAt: instant('last_used_at'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const dataKeys = pgTable(
  'data_keys',
  {
    tenantId: uuid('tenant_id').notNull(),
    version: smallint('version').notNull(),
    wrapped: bytea('wrapped'),
    provider: text('provider').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    destroyedAt: instant('destroyed_at'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.version] })],
)

// Projects, queues, limits ------------------------------------------------------------------------------------

export const projects = pgTable(
  'projects',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    slug: text('slug').notNull(),
    name: text('name').notNull(),
    label: text('label', { enum: ['production', 'staging', 'development'] })
      .notNull()
      .default('production'),
    requiresIdempotencyKey: boolean('requires_idempotency_key').notNull().default(false),
    createdAt: instant('created_at').notNull().defaultNow(),
    updatedAt: instant('updated_at').notNull().defaultNow(),
    version: integer('version').notNull().default(1),
    hasTestClock: boolean('has_test_clock').notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const queues = pgTable(
  'queues',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    name: text('name').notNull(),
    pool: smallint('pool').notNull().default(1),
    pausedAt: instant('paused_at'),
    pausedBy: text('paused_by'),
    pauseReason: text('pause_reason'),
    createdAt: instant('created_at').notNull().defaultNow(),
    updatedAt: instant('updated_at').notNull().defaultNow(),
    version: integer('version').notNull().default(1),
    deadLetters: text('dead_letters', { enum: ['keep', 'drop'] })
      .notNull()
      .default('keep'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const limits = pgTable(
  'limits',
  {
    tenantId: uuid('tenant_id').notNull(),
    queueId: uuid('queue_id').notNull(),
    concurrency: integer('concurrency').notNull(),
    weight: real('weight').notNull().default(1),
    paused: boolean('paused').notNull().default(false),
    waitingMax: integer('waiting_max'),
    gated: boolean('gated').notNull().default(false),
    class: smallint('class').notNull().default(1),
    preemptible: boolean('preemptible').notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.queueId] })],
)

export const flowLimits = pgTable(
  'flow_limits',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id'),
    name: text('name').notNull(),
    scope: text('scope', { enum: ['tenant', 'project', 'queue', 'job', 'host'] }).notNull(),
    queueId: uuid('queue_id'),
    jobId: uuid('job_id'),
    host: text('host'),
    keyExpression: text('key_expression'),
    costExpression: text('cost_expression'),
    concurrency: integer('concurrency'),
    rateCount: integer('rate_count'),
    rateMs: bigint('rate_ms', { mode: 'number' }),
    rateBurst: integer('rate_burst'),
    backlogMax: integer('backlog_max'),
    whenFull: text('when_full', { enum: ['reject', 'drop-oldest'] }),
    pausedAt: instant('paused_at'),
    pausedBy: text('paused_by'),
    pauseReason: text('pause_reason'),
    pinnedAt: instant('pinned_at'),
    createdAt: instant('created_at').notNull().default(sql`clock_timestamp()`),
    updatedAt: instant('updated_at').notNull().default(sql`clock_timestamp()`),
    version: integer('version').notNull().default(1),
    isWhole: boolean('is_whole')
      .notNull()
      .generatedAlwaysAs(
        sql`key_expression is null and cost_expression is null and scope in ('tenant', 'project', 'queue')`,
      ),
    pinnedBy: text('pinned_by'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const gates = pgTable(
  'gates',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    limitId: uuid('limit_id').notNull(),
    key: text('key').notNull().default(''),
    fullAt: instant('full_at').notNull().default(sql`'-infinity'`),
    seenAt: instant('seen_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const lanes = pgTable(
  'lanes',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    seenAt: instant('seen_at').notNull().default(sql`clock_timestamp()`),
    isBatch: boolean('is_batch').notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const laneGates = pgTable(
  'lane_gates',
  {
    tenantId: uuid('tenant_id').notNull(),
    laneId: uuid('lane_id').notNull(),
    gateId: uuid('gate_id').notNull(),
    cost: integer('cost').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.laneId, table.gateId] })],
)

export const executors = pgTable('executors', {
  id: uuid('id').primaryKey(),
  pool: smallint('pool').notNull(),
  capacity: integer('capacity').notNull(),
  running: integer('running').notNull().default(0),
  finishedPerSecond: real('finished_per_second').notNull().default(0),
  seenAt: instant('seen_at').notNull().defaultNow(),
  spare: integer('spare').notNull().default(0),
})

// Jobs and schedules ------------------------------------------------------------------------------------------

export const jobs = pgTable(
  'jobs',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    externalId: text('external_id'),
    name: text('name').notNull(),
    description: text('description'),
    tags: text('tags').array().notNull().default(sql`'{}'`),
    version: integer('version').notNull().default(1),
    state: text('state', { enum: ['active', 'paused', 'deleted'] })
      .notNull()
      .default('active'),
    pausedAt: instant('paused_at'),
    pausedBy: text('paused_by'),
    pauseReason: text('pause_reason'),
    queueId: uuid('queue_id').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    updatedAt: instant('updated_at').notNull().defaultNow(),
    pauseUntil: instant('pause_until'),
    shadow: boolean('shadow').notNull().default(false),
    archivedAt: instant('archived_at'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const jobVersions = pgTable(
  'job_versions',
  {
    tenantId: uuid('tenant_id').notNull(),
    jobId: uuid('job_id').notNull(),
    version: integer('version').notNull(),
    definition: jsonb('definition').notNull(),
    target: bytea('target').notNull(),
    restoredFrom: integer('restored_from'),
    createdBy: text('created_by').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId, table.version] })],
)

export const schedules = pgTable(
  'schedules',
  {
    tenantId: uuid('tenant_id').notNull(),
    jobId: uuid('job_id').notNull(),
    projectId: uuid('project_id').notNull(),
    queueId: uuid('queue_id').notNull(),
    pool: smallint('pool').notNull().default(1),
    shardId: smallint('shard_id').notNull().default(1),
    jobVersion: integer('job_version').notNull(),
    spec: jsonb('spec').notNull(),
    overlap: smallint('overlap').notNull().default(0),
    catchUp: smallint('catch_up').notNull().default(0),
    graceSeconds: integer('grace_seconds').notNull().default(60),
    priority: smallint('priority').notNull().default(3),
    attemptsMax: smallint('attempts_max').notNull().default(6),
    paused: boolean('paused').notNull().default(false),
    nextAt: instant('next_at'),
    tzVersion: text('tz_version').notNull(),
    updatedAt: instant('updated_at').notNull().defaultNow(),
    leadMs: bigint('lead_ms', { mode: 'number' }).notNull().default(0),
    catchUpMax: integer('catch_up_max').notNull().default(100),
    catchUpWindowMs: bigint('catch_up_window_ms', { mode: 'number' }),
    runsLeft: integer('runs_left'),
    revisits: boolean('revisits').notNull().default(false),
    pauseAfter: integer('pause_after'),
    whenOver: smallint('when_over').notNull().default(0),
    shadow: boolean('shadow').notNull().default(false),
    startWithinMs: bigint('start_within_ms', { mode: 'number' }),
    endWithinMs: bigint('end_within_ms', { mode: 'number' }),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId] })],
)

export const scheduleRests = pgTable(
  'schedule_rests',
  {
    tenantId: uuid('tenant_id').notNull(),
    jobId: uuid('job_id').notNull(),
    untilAt: instant('until_at').notNull(),
    projectId: uuid('project_id').notNull(),
    queueId: uuid('queue_id').notNull(),
    pool: smallint('pool').notNull(),
    shardId: smallint('shard_id').notNull(),
    jobVersion: integer('job_version').notNull(),
    spec: jsonb('spec').notNull(),
    overlap: smallint('overlap').notNull(),
    catchUp: smallint('catch_up').notNull(),
    catchUpMax: integer('catch_up_max').notNull(),
    catchUpWindowMs: bigint('catch_up_window_ms', { mode: 'number' }),
    graceSeconds: integer('grace_seconds').notNull(),
    priority: smallint('priority').notNull(),
    attemptsMax: smallint('attempts_max').notNull(),
    runsLeft: integer('runs_left'),
    nextAt: instant('next_at').notNull(),
    reason: text('reason'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId, table.untilAt] })],
)

export const occurrences = pgTable(
  'occurrences',
  {
    tenantId: uuid('tenant_id').notNull(),
    jobId: uuid('job_id').notNull(),
    nominalAt: instant('nominal_at').notNull(),
    projectId: uuid('project_id').notNull(),
    jobVersion: integer('job_version').notNull(),
    outcome: text('outcome', { enum: ['pending', 'run', 'skipped', 'missed'] })
      .notNull()
      .default('pending'),
    reason: text('reason'),
    runId: uuid('run_id'),
    caughtUp: boolean('caught_up').notNull().default(false),
    tzVersion: text('tz_version').notNull(),
    decidedAt: instant('decided_at'),
    effectiveAt: instant('effective_at'),
    untilAt: instant('until_at'),
    count: integer('count').notNull().default(1),
    moved: boolean('moved').notNull().default(false),
    note: text('note'),
    editedBy: text('edited_by'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId, table.nominalAt] })],
)

export const calendars = pgTable(
  'calendars',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    name: text('name').notNull(),
    version: integer('version').notNull().default(1),
    createdAt: instant('created_at').notNull().defaultNow(),
    updatedAt: instant('updated_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const calendarVersions = pgTable(
  'calendar_versions',
  {
    tenantId: uuid('tenant_id').notNull(),
    calendarId: uuid('calendar_id').notNull(),
    version: integer('version').notNull(),
    definition: jsonb('definition').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.calendarId, table.version] })],
)

export const blackouts = pgTable(
  'blackouts',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id'),
    name: text('name').notNull(),
    fromAt: instant('from_at').notNull(),
    untilAt: instant('until_at').notNull(),
    roll: text('roll', { enum: ['skip', 'next'] })
      .notNull()
      .default('skip'),
    createdBy: text('created_by').notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    updatedAt: instant('updated_at').notNull().defaultNow(),
    version: integer('version').notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const scheduleSpans = pgTable(
  'schedule_spans',
  {
    tenantId: uuid('tenant_id').notNull(),
    jobId: uuid('job_id').notNull(),
    fromAt: instant('from_at').notNull(),
    jobVersion: integer('job_version').notNull(),
    spec: jsonb('spec'),
    paused: boolean('paused').notNull(),
    tzVersion: text('tz_version').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId, table.fromAt] })],
)

export const zoneMoves = pgTable(
  'zone_moves',
  {
    tenantId: uuid('tenant_id').notNull(),
    projectId: uuid('project_id').notNull(),
    tzVersion: text('tz_version').notNull(),
    jobId: uuid('job_id').notNull(),
    fromVersion: text('from_version').notNull(),
    at: instant('at').notNull().default(sql`clock_timestamp()`),
    beforeAt: instant('before_at'),
    afterAt: instant('after_at'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.projectId, table.tzVersion, table.jobId] })],
)

// Runs --------------------------------------------------------------------------------------------------------

export const inputs = pgTable('inputs', {
  tenantId: uuid('tenant_id').notNull(),
  projectId: uuid('project_id').notNull(),
  id: uuid('id').notNull(),
  keepWeek: date('keep_week', { mode: 'string' }).notNull(),
  createdAt: instant('created_at').notNull(),
  dueAt: instant('due_at').notNull(),
  queueId: uuid('queue_id').notNull(),
  pool: smallint('pool').notNull(),
  priority: smallint('priority').notNull(),
  source: smallint('source').notNull(),
  jobId: uuid('job_id'),
  jobVersion: integer('job_version'),
  nominalAt: instant('nominal_at'),
  replayOf: uuid('replay_of'),
  payloadBlock: uuid('payload_block'),
  payloadOffset: integer('payload_offset'),
})

export const inputBlocks = pgTable('input_blocks', {
  tenantId: uuid('tenant_id').notNull(),
  id: uuid('id').notNull(),
  keepWeek: date('keep_week').notNull(),
  sealed: bytea('sealed').notNull(),
})

export const due = pgTable(
  'due',
  {
    pool: smallint('pool').notNull(),
    dueAt: instant('due_at').notNull(),
    id: uuid('id').notNull(),
    tenantId: uuid('tenant_id').notNull(),
    projectId: uuid('project_id').notNull(),
    queueId: uuid('queue_id').notNull(),
    priority: smallint('priority').notNull(),
    attempt: smallint('attempt').notNull().default(0),
    attemptsMax: smallint('attempts_max').notNull(),
    fence: integer('fence').notNull().default(0),
    keepWeek: date('keep_week', { mode: 'string' }).notNull(),
    overlap: smallint('overlap').notNull().default(1),
    jobId: uuid('job_id'),
    nominalAt: instant('nominal_at'),
    lane: uuid('lane'),
  },
  (table) => [primaryKey({ columns: [table.pool, table.dueAt, table.id] })],
)

export const ready = pgTable(
  'ready',
  {
    pool: smallint('pool').notNull(),
    tenantId: uuid('tenant_id').notNull(),
    queueId: uuid('queue_id').notNull(),
    priority: smallint('priority').notNull(),
    dueAt: instant('due_at').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    attempt: smallint('attempt').notNull().default(0),
    attemptsMax: smallint('attempts_max').notNull(),
    fence: integer('fence').notNull().default(0),
    keepWeek: date('keep_week', { mode: 'string' }).notNull(),
    jobId: uuid('job_id'),
    nominalAt: instant('nominal_at'),
    lane: uuid('lane'),
  },
  (table) => [
    primaryKey({ columns: [table.pool, table.tenantId, table.queueId, table.priority, table.dueAt, table.id] }),
  ],
)

export const held = pgTable(
  'held',
  {
    pool: smallint('pool').notNull(),
    tenantId: uuid('tenant_id').notNull(),
    queueId: uuid('queue_id').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    state: smallint('state').notNull(),
    priority: smallint('priority').notNull(),
    attempt: smallint('attempt').notNull(),
    attemptsMax: smallint('attempts_max').notNull(),
    fence: integer('fence').notNull(),
    epoch: integer('epoch').notNull().default(1),
    dueAt: instant('due_at').notNull(),
    keepWeek: date('keep_week', { mode: 'string' }).notNull(),
    jobId: uuid('job_id'),
    nominalAt: instant('nominal_at'),
    since: instant('since').notNull(),
    leaseUntil: instant('lease_until').notNull(),
    executorId: uuid('executor_id'),
    lane: uuid('lane'),
  },
  (table) => [primaryKey({ columns: [table.pool, table.tenantId, table.queueId, table.id] })],
)

export const runs = pgTable('runs', {
  tenantId: uuid('tenant_id').notNull(),
  projectId: uuid('project_id').notNull(),
  id: uuid('id').notNull(),
  queueId: uuid('queue_id').notNull(),
  pool: smallint('pool').notNull(),
  state: smallint('state').notNull(),
  attempt: smallint('attempt').notNull(),
  fence: integer('fence').notNull(),
  dueAt: instant('due_at').notNull(),
  startedAt: instant('started_at'),
  endedAt: instant('ended_at').notNull(),
  durationMs: integer('duration_ms'),
  httpStatus: smallint('http_status'),
  error: text('error'),
  jobId: uuid('job_id'),
  nominalAt: instant('nominal_at'),
  executorId: uuid('executor_id'),
  responseBlock: uuid('response_block'),
  responseOffset: integer('response_offset'),
  responseObject: text('response_object'),
})

export const runDeadlines = pgTable(
  'run_deadlines',
  {
    tenantId: uuid('tenant_id').notNull(),
    runId: uuid('run_id').notNull(),
    projectId: uuid('project_id').notNull(),
    pool: smallint('pool').notNull(),
    queueId: uuid('queue_id').notNull(),
    startBy: instant('start_by'),
    endBy: instant('end_by'),
    checkAt: instant('check_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.runId] })],
)

export const attempts = pgTable('attempts', {
  tenantId: uuid('tenant_id').notNull(),
  runId: uuid('run_id').notNull(),
  attempt: smallint('attempt').notNull(),
  fence: integer('fence').notNull(),
  dueAt: instant('due_at').notNull(),
  startedAt: instant('started_at'),
  endedAt: instant('ended_at').notNull(),
  durationMs: integer('duration_ms'),
  httpStatus: smallint('http_status'),
  error: text('error').notNull(),
  retryAt: instant('retry_at').notNull(),
  executorId: uuid('executor_id'),
  responseBlock: uuid('response_block'),
  responseOffset: integer('response_offset'),
  responseObject: text('response_object'),
})

export const deadLetters = pgTable(
  'dead_letters',
  {
    tenantId: uuid('tenant_id').notNull(),
    runId: uuid('run_id').notNull(),
    projectId: uuid('project_id').notNull(),
    jobId: uuid('job_id'),
    queueId: uuid('queue_id').notNull(),
    state: smallint('state').notNull(),
    error: text('error').notNull(),
    httpStatus: smallint('http_status'),
    fingerprint: uuid('fingerprint').notNull(),
    failures: integer('failures').notNull().default(1),
    firstFailedAt: instant('first_failed_at').notNull(),
    failedAt: instant('failed_at').notNull(),
    handledAt: instant('handled_at'),
    handling: text('handling', { enum: ['redriven', 'discarded'] }),
    handledBy: text('handled_by'),
    redrivenAs: uuid('redriven_as'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.runId] })],
)

export const runDetails = pgTable(
  'run_details',
  {
    tenantId: uuid('tenant_id').notNull(),
    runId: uuid('run_id').notNull(),
    projectId: uuid('project_id').notNull(),
    tags: text('tags').array().notNull().default(sql`'{}'`),
    metadata: jsonb('metadata'),
    callbackOf: uuid('callback_of'),
    batchId: uuid('batch_id'),
    keyKind: text('key_kind', { enum: ['deduplicate', 'debounce', 'collect'] }),
    keyScope: uuid('key_scope'),
    key: text('key'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.runId] })],
)

export const runTags = pgTable(
  'run_tags',
  {
    tenantId: uuid('tenant_id').notNull(),
    projectId: uuid('project_id').notNull(),
    tag: text('tag').notNull(),
    runId: uuid('run_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.projectId, table.tag, table.runId] })],
)

export const runCallbacks = pgTable(
  'run_callbacks',
  {
    tenantId: uuid('tenant_id').notNull(),
    runId: uuid('run_id').notNull(),
    projectId: uuid('project_id').notNull(),
    onSuccess: boolean('on_success').notNull(),
    onFailure: boolean('on_failure').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.runId] })],
)

export const runKeys = pgTable(
  'run_keys',
  {
    tenantId: uuid('tenant_id').notNull(),
    scopeId: uuid('scope_id').notNull(),
    kind: text('kind', { enum: ['deduplicate', 'debounce', 'collect'] }).notNull(),
    key: text('key').notNull(),
    projectId: uuid('project_id').notNull(),
    runId: uuid('run_id').notNull(),
    firstAt: instant('first_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    hits: integer('hits').notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.scopeId, table.kind, table.key] })],
)

export const responseBlocks = pgTable('response_blocks', {
  tenantId: uuid('tenant_id').notNull(),
  id: uuid('id').notNull(),
  endedAt: instant('ended_at').notNull().default(sql`clock_timestamp()`),
  sealed: bytea('sealed').notNull(),
})

export const runLogs = pgTable('run_logs', {
  tenantId: uuid('tenant_id').notNull(),
  runId: uuid('run_id').notNull(),
  at: instant('at').notNull(),
  id: uuid('id').notNull(),
  attempt: smallint('attempt').notNull(),
  level: text('level', { enum: ['debug', 'info', 'warn', 'error'] }).notNull(),
  message: bytea('message').notNull(),
})

// Events, audit, idempotency ----------------------------------------------------------------------------------

export const events = pgTable(
  'events',
  {
    xid: xid8('xid').notNull().default(sql`pg_current_xact_id()`),
    seq: bigint('seq', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    tenantId: uuid('tenant_id').notNull(),
    projectId: uuid('project_id'),
    type: text('type').notNull(),
    subject: uuid('subject'),
    jobId: uuid('job_id'),
    at: instant('at').notNull().default(sql`clock_timestamp()`),
    data: jsonb('data'),
  },
  (table) => [primaryKey({ columns: [table.xid, table.seq, table.at] })],
)

export const auditEntries = pgTable('audit_entries', {
  tenantId: uuid('tenant_id').notNull(),
  id: uuid('id').notNull(),
  at: instant('at').notNull().default(sql`clock_timestamp()`),
  projectId: uuid('project_id'),
  actor: text('actor').notNull(),
  action: text('action').notNull(),
  subject: uuid('subject'),
  data: jsonb('data'),
  requestId: text('request_id'),
  seq: bigint('seq', { mode: 'number' }),
  hash: bytea('hash'),
  xid: xid8('xid').notNull().default(sql`pg_current_xact_id()`),
})

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: uuid('tenant_id').notNull(),
    projectId: uuid('project_id').notNull(),
    key: text('key').notNull(),
    fingerprint: bytea('fingerprint').notNull(),
    subject: uuid('subject').notNull(),
    createdAt: instant('created_at').notNull().default(sql`clock_timestamp()`),
    response: bytea('response'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.projectId, table.key] })],
)

// What the relay has told and counted -------------------------------------------------------------------------

export const relayPositions = pgTable('relay_positions', {
  name: text('name').primaryKey(),
  xid: xid8('xid').notNull(),
  seq: bigint('seq', { mode: 'number' }).notNull(),
})

export const runMinutes = pgTable(
  'run_minutes',
  {
    tenantId: uuid('tenant_id').notNull(),
    projectId: uuid('project_id').notNull(),
    minute: instant('minute').notNull(),
    state: smallint('state').notNull(),
    count: integer('count').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.projectId, table.minute, table.state] })],
)

export const shareMinutes = pgTable(
  'share_minutes',
  {
    tenantId: uuid('tenant_id').notNull(),
    pool: smallint('pool').notNull(),
    minute: instant('minute').notNull(),
    received: doublePrecision('received').notNull(),
    entitled: doublePrecision('entitled').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.pool, table.minute] })],
)

export const queueShareMinutes = pgTable(
  'queue_share_minutes',
  {
    tenantId: uuid('tenant_id').notNull(),
    pool: smallint('pool').notNull(),
    minute: instant('minute').notNull(),
    queueId: uuid('queue_id').notNull(),
    received: doublePrecision('received').notNull(),
    entitled: doublePrecision('entitled').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.pool, table.minute, table.queueId] })],
)

export const poolMinutes = pgTable(
  'pool_minutes',
  {
    pool: smallint('pool').notNull(),
    minute: instant('minute').notNull(),
    samples: integer('samples').notNull(),
    sampledAt: instant('sampled_at').notNull(),
    slots: doublePrecision('slots').notNull(),
    tenants: doublePrecision('tenants').notNull(),
    jain: doublePrecision('jain').notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.pool, table.minute] })],
)

export const jobHours = pgTable(
  'job_hours',
  {
    tenantId: uuid('tenant_id').notNull(),
    jobId: uuid('job_id').notNull(),
    hour: instant('hour').notNull(),
    state: smallint('state').notNull(),
    count: integer('count').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId, table.hour, table.state] })],
)

// Operations, backfills, test clocks --------------------------------------------------------------------------

export const operations = pgTable(
  'operations',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    shardId: smallint('shard_id').notNull().default(1),
    kind: text('kind').notNull(),
    plan: jsonb('plan').notNull(),
    state: text('state', { enum: ['running', 'paused', 'aborted', 'finished'] })
      .notNull()
      .default('running'),
    total: integer('total').notNull(),
    done: integer('done').notNull().default(0),
    unchanged: integer('unchanged').notNull().default(0),
    failed: integer('failed').notNull().default(0),
    rate: real('rate'),
    actor: text('actor').notNull(),
    undoOf: uuid('undo_of'),
    undoneBy: uuid('undone_by'),
    sample: jsonb('sample').notNull(),
    nextAt: instant('next_at').notNull().default(sql`clock_timestamp()`),
    steppedAt: instant('stepped_at'),
    toldAt: instant('told_at').notNull().default(sql`clock_timestamp()`),
    createdAt: instant('created_at').notNull().default(sql`clock_timestamp()`),
    updatedAt: instant('updated_at').notNull().default(sql`clock_timestamp()`),
    finishedAt: instant('finished_at'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const operationItems = pgTable(
  'operation_items',
  {
    tenantId: uuid('tenant_id').notNull(),
    operationId: uuid('operation_id').notNull(),
    position: integer('position').notNull(),
    itemId: uuid('item_id'),
    name: text('name').notNull(),
    data: jsonb('data'),
    state: smallint('state').notNull().default(0),
    before: jsonb('before'),
    detail: text('detail'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.operationId, table.position] })],
)

export const backfills = pgTable(
  'backfills',
  {
    tenantId: uuid('tenant_id').notNull(),
    jobId: uuid('job_id').notNull(),
    nominalAt: instant('nominal_at').notNull(),
    runId: uuid('run_id').notNull(),
    operationId: uuid('operation_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId, table.nominalAt] })],
)

export const testClocks = pgTable(
  'test_clocks',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    shardId: smallint('shard_id').notNull().default(1),
    pool: smallint('pool').notNull().default(1),
    name: text('name').notNull(),
    nowAt: instant('now_at').notNull(),
    targetAt: instant('target_at'),
    openRuns: uuid('open_runs').array().notNull().default([]),
    openQueues: uuid('open_queues').array().notNull().default([]),
    createdAt: instant('created_at').notNull().default(sql`clock_timestamp()`),
    updatedAt: instant('updated_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

// Imports and pings -------------------------------------------------------------------------------------------

export const imports = pgTable(
  'imports',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    format: text('format').notNull(),
    prefix: text('prefix').notNull(),
    fileName: text('file_name'),
    timezone: text('timezone').notNull(),
    created: integer('created').notNull(),
    updated: integer('updated').notNull(),
    unchanged: integer('unchanged').notNull(),
    refused: integer('refused').notNull(),
    sealed: bytea('sealed').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: instant('created_at').notNull().default(sql`clock_timestamp()`),
    vanished: jsonb('vanished').notNull().default(sql`'[]'`),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.id] })],
)

export const importEntries = pgTable(
  'import_entries',
  {
    tenantId: uuid('tenant_id').notNull(),
    importId: uuid('import_id').notNull(),
    position: integer('position').notNull(),
    outcome: text('outcome', { enum: ['created', 'updated', 'unchanged', 'refused'] }).notNull(),
    jobId: uuid('job_id'),
    proposal: jsonb('proposal').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.importId, table.position] })],
)

export const pingUrls = pgTable(
  'ping_urls',
  {
    tenantId: uuid('tenant_id').notNull(),
    jobId: uuid('job_id').notNull(),
    projectId: uuid('project_id').notNull(),
    tokenHash: bytea('token_hash').notNull(),
    sealed: bytea('sealed').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: instant('created_at').notNull().default(sql`clock_timestamp()`),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId] })],
)

export const pings = pgTable(
  'pings',
  {
    tenantId: uuid('tenant_id').notNull(),
    jobId: uuid('job_id').notNull(),
    at: instant('at').notNull(),
    id: uuid('id').notNull(),
    kind: text('kind', { enum: ['start', 'finish', 'fail'] }).notNull(),
    exitCode: smallint('exit_code'),
    body: bytea('body'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.jobId, table.at, table.id] })],
)

// Breakers ----------------------------------------------------------------------------------------------------

export const breakers = pgTable(
  'breakers',
  {
    tenantId: uuid('tenant_id').notNull(),
    host: text('host').notNull(),
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    state: text('state', { enum: ['open', 'draining', 'closed'] }).notNull(),
    since: instant('since').notNull(),
    openedAt: instant('opened_at').notNull(),
    openedBy: text('opened_by'),
    reason: text('reason'),
    closedAt: instant('closed_at'),
    closedBy: text('closed_by'),
    failures: integer('failures').notNull().default(0),
    error: text('error'),
    httpStatus: smallint('http_status'),
    probesFailed: integer('probes_failed').notNull().default(0),
    probeAt: instant('probe_at'),
    probeRun: uuid('probe_run'),
    probePool: smallint('probe_pool'),
    probeQueue: uuid('probe_queue'),
    passedAt: instant('passed_at'),
    passedId: uuid('passed_id'),
    pacedAt: instant('paced_at'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.host] })],
)

export const breakerWaits = pgTable(
  'breaker_waits',
  {
    tenantId: uuid('tenant_id').notNull(),
    host: text('host').notNull(),
    dueAt: instant('due_at').notNull(),
    runId: uuid('run_id').notNull(),
    queueId: uuid('queue_id').notNull(),
    pool: smallint('pool').notNull(),
    since: instant('since').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.host, table.dueAt, table.runId] })],
)

export const breakerSettings = pgTable('breaker_settings', {
  tenantId: uuid('tenant_id').primaryKey(),
  isEnabled: boolean('is_enabled').notNull(),
  failures: integer('failures').notNull(),
  failureShare: real('failure_share').notNull(),
  windowSeconds: integer('window_seconds').notNull(),
  updatedAt: instant('updated_at').notNull().default(sql`clock_timestamp()`),
  version: integer('version').notNull().default(1),
})

// The watchdog ------------------------------------------------------------------------------------------------

export const alarms = pgTable(
  'alarms',
  {
    tenantId: uuid('tenant_id').notNull(),
    kind: text('kind').notNull(),
    subject: uuid('subject').notNull(),
    projectId: uuid('project_id').notNull(),
    since: instant('since').notNull(),
    raisedAt: instant('raised_at').notNull(),
    clearedAt: instant('cleared_at'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.kind, table.subject] })],
)

export const installationAlarms = pgTable(
  'installation_alarms',
  {
    kind: text('kind').notNull(),
    name: text('name').notNull(),
    since: instant('since').notNull(),
    raisedAt: instant('raised_at').notNull(),
    clearedAt: instant('cleared_at'),
  },
  (table) => [primaryKey({ columns: [table.kind, table.name] })],
)

export const watchdogPasses = pgTable('watchdog_passes', {
  shardId: smallint('shard_id').primaryKey(),
  passedAt: instant('passed_at').notNull(),
  seenTenant: uuid('seen_tenant'),
  seenJob: uuid('seen_job'),
})
