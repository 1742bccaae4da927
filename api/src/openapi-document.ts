import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { jsonMediaTypes, yamlMediaTypes } from './http/body.ts'
import type { Operation } from './http/operation.ts'
import { type ProblemCode, problemMediaType, problems } from './http/problems.ts'
import { type Json, SchemaCollector } from './openapi-schemas.ts'
import { problemWire } from './wire/problem.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

const description = `Meridian runs HTTP calls on time: once, or on a schedule.

Send an API key as \`Authorization: Bearer mk_…\`. Every create takes an \`Idempotency-Key\`; every error is a
problem of RFC 9457 with a documented type; every list is paged by cursor. Bodies are JSON or YAML. Unknown fields
are refused in requests; answers may grow new ones.`

const tags: Record<string, string> = {
  Jobs: 'Stored definitions: a target, a schedule, policies. Every change is a version.',
  Runs: 'Executions: of a job, or ad hoc.',
  'Dead letters': 'Runs that failed or expired, and wait for somebody to say what becomes of them.',
  Schedules: 'What a schedule means, before it is saved.',
  Forecast: 'What schedules will do, and the load it makes.',
  Calendars: 'Days and hours that schedules keep to, and stretches in which nothing starts.',
  Imports: 'Schedules of other systems, taken over: looked at first, run in shadow, then switched.',
  Pings: 'How a job that runs elsewhere tells that it did.',
  'Test clocks': 'The time of a project that is made for tests: “next month” runs in seconds.',
  Operations: 'Work on many things, as a thing of its own: counted first, then followed, paused, aborted, undone.',
  Queues: 'Where runs wait, with their limits.',
  Breakers: 'Hosts that fail, and the runs that are held back until they are well.',
  Limits: 'What runs mind beyond their queue: at once, in a time, apart for each key.',
  Projects: 'Named spaces of an organisation.',
  'API keys': 'What programs identify themselves with.',
  Sessions: 'What people identify themselves with.',
  Stats: 'Pictures of the past and of what comes.',
  Events: 'What happens, as it happens.',
  System: 'This installation.',
}

const headerParameters = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    description:
      'A repeated request with the same key is answered as the first one was. Required when the project says so.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
  },
  IfMatch: {
    name: 'If-Match',
    description: 'The ETag of what you have seen: refused with 412 when it has changed since.',
    schema: { type: 'string' },
    example: '"3-1f0a9c3b77d2"',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    description: 'The ETag of what you have: answered with 304 when it is still the same.',
    schema: { type: 'string' },
    example: '"3-1f0a9c3b77d2"',
  },
  Project: {
    name: 'Meridian-Project',
    description: 'For sessions: the project to work in. A key has its own.',
    schema: { type: 'string' },
    example: 'prj_01h455vb4pex5vsknk084sn02q',
  },
} as const
type HeaderParameter = keyof typeof headerParameters

const headers = {
  RateLimitPolicy: {
    description: 'The limits: quota and window in seconds.',
    schema: { type: 'string' },
    example: '"default";q=200000;w=10',
  },
  RateLimit: {
    description: 'What is left of them, and for how long.',
    schema: { type: 'string' },
    example: '"default";r=199999;t=10',
  },
  RequestId: { description: 'Names this request in our logs.', schema: { type: 'string' } },
  ETag: { description: 'This state of the resource.', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds after which a retry makes sense.', schema: { type: 'integer' } },
  IdempotencyReplayed: {
    description: '`true` when an earlier request with this key did the work.',
    schema: { type: 'string' },
  },
}

const headerRef = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` })

/** The OpenAPI 3.1 document of these operations. */
export function openApiDocument(operations: readonly Operation[], serverUrl = '/'): Json {
  const schemas = new SchemaCollector()
  const problemSchema = schemas.add(problemWire, 'output')
  const answers = new Map(
    operations.map((operation) => [
      operation,
      operation.answer.schema && schemas.add(operation.answer.schema, 'output'),
    ]),
  )
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    paths[operation.path] ??= {}
    Object.assign(paths[operation.path] ?? {}, {
      [operation.method]: describe(operation, schemas, answers.get(operation)),
    })
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Meridian API',
      version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', bearerFormat: 'mk_…', description: 'An API key of a project.' },
        session: { type: 'http', scheme: 'bearer', bearerFormat: 'ms_…', description: 'A session token of a person.' },
      },
      parameters: Object.fromEntries(
        Object.entries(headerParameters).map(([name, parameter]) => [name, { in: 'header', ...parameter }]),
      ),
      headers,
      responses: problemResponses(problemSchema),
      schemas: schemas.components(),
    },
  }
}

function describe(operation: Operation, schemas: SchemaCollector, answer: Json | undefined): Json {
  const { access } = operation
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    security: access.kind === 'public' ? [] : [{ apiKey: [] }, { session: [] }],
    ...(access.kind === 'project' ? { 'x-required-scope': access.scope } : {}),
    parameters: [
      ...shapeParameters('path', operation.params, schemas),
      ...shapeParameters('query', operation.query, schemas),
      ...headerParametersOf(operation).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(operation.body === undefined ? {} : { requestBody: requestBody(operation, operation.body, schemas) }),
    responses: { ...success(operation, answer), ...problemsOf(operation) },
  }
}

function headerParametersOf({ access, isCreate, isGuarded, hasEtag }: Operation): HeaderParameter[] {
  const names: HeaderParameter[] = []
  if (access.kind !== 'public') names.push('Project')
  if (isCreate) names.push('IdempotencyKey')
  if (isGuarded) names.push('IfMatch')
  if (hasEtag) names.push('IfNoneMatch')
  return names
}

function shapeParameters(place: 'path' | 'query', schema: z.ZodType | undefined, schemas: SchemaCollector): Json[] {
  if (schema === undefined) return []
  const shape = (schema as z.ZodObject).shape
  return Object.entries(shape).map(([name, field]) => {
    const { description: text, ...json } = schemas.add(field, 'output')
    const isRequired = place === 'path' || !field.safeParse(undefined).success
    return { name, in: place, required: isRequired, ...(text === undefined ? {} : { description: text }), schema: json }
  })
}

function requestBody(operation: Operation, body: z.ZodType, schemas: SchemaCollector): Json {
  const schema = schemas.add(body, 'input')
  return {
    required: !operation.isBodyOptional,
    content: {
      [jsonMediaTypes[0]]: { schema, ...(operation.example === undefined ? {} : { example: operation.example }) },
      [yamlMediaTypes[0]]: { schema },
    },
  }
}

function success(operation: Operation, schema: Json | undefined): Json {
  const { status, description: text, mediaType } = operation.answer
  const response = {
    description: text,
    headers: {
      'X-Request-Id': headerRef('RequestId'),
      ...(operation.access.kind === 'public'
        ? {}
        : { RateLimit: headerRef('RateLimit'), 'RateLimit-Policy': headerRef('RateLimitPolicy') }),
      ...(operation.hasEtag || operation.isGuarded ? { ETag: headerRef('ETag') } : {}),
      ...(operation.isCreate ? { 'Idempotency-Replayed': headerRef('IdempotencyReplayed') } : {}),
    },
    ...(schema === undefined ? {} : { content: { [mediaType ?? 'application/json']: { schema } } }),
  }
  return {
    [status]: response,
    ...(operation.otherwise === undefined
      ? {}
      : { [operation.otherwise.status]: { ...response, description: operation.otherwise.description } }),
    ...(operation.hasEtag ? { 304: { description: 'You have it already.' } } : {}),
  }
}

/** The problems that operations of its kind can answer, by status. */
function problemsOf(operation: Operation): Json {
  const { access, params, query, body, isCreate, isGuarded } = operation
  const codes: ProblemCode[] = ['internal', 'dependency-unavailable', ...(operation.problems ?? [])]
  if (access.kind !== 'public')
    codes.push('unauthenticated', 'forbidden', 'not-found', 'rate-limited', 'malformed-request')
  if (params !== undefined) codes.push('not-found')
  if (query !== undefined || body !== undefined) codes.push('malformed-request', 'validation-failed')
  if (body !== undefined) codes.push('payload-too-large', 'unsupported-media-type')
  if (isCreate) codes.push('idempotency-key-required', 'idempotency-in-flight', 'idempotency-mismatch')
  if (isGuarded) codes.push('precondition-failed')
  const statuses = [...new Set(codes.map((code) => problems[code].status))].sort((a, b) => a - b)
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]))
}

function problemResponses(schema: Json): Json {
  // 405 is what a path answers, not an operation.
  const byStatus = Map.groupBy(
    Object.entries(problems).filter(([code]) => code !== 'method-not-allowed'),
    ([, { status }]) => status,
  )
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, entries]) => [
        `Problem${status}`,
        {
          description: entries.map(([code, { title }]) => `${title} (\`${code}\`).`).join(' '),
          headers: {
            'X-Request-Id': headerRef('RequestId'),
            ...(status === 429 || status === 503 ? { 'Retry-After': headerRef('RetryAfter') } : {}),
          },
          content: { [problemMediaType]: { schema } },
        },
      ]),
  )
}
