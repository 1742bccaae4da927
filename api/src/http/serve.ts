import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { actorText } from '@meridian/core/access/audit'
import { requireScope } from '@meridian/core/access/scope'
import type { Ctx } from '@meridian/core/db/context'
import { AppError } from '@meridian/core/kernel/errors'
import { toWireId, uuidv7 } from '@meridian/core/kernel/ids'
import type { Context } from 'hono'
import type { Caller } from './auth.ts'
import { parseBody, readBody } from './body.ts'
import type { Services } from './env.ts'
import { matchesEtag, toEtag } from './etag.ts'
import { readIdempotency } from './idempotency.ts'
import { alreadyAnswered, type Call, type Operation, Reply, type ReplyOptions } from './operation.ts'
import { type ProblemCode, problemHeaders, toProblem } from './problems.ts'
import { validate } from './validate.ts'

export type Http = Context<{ Bindings: HttpBindings }>

/** What is known of a request so far; the log line is made of it, however the request ends. */
export interface Progress {
  requestId: string
  startedAt: number
  method: string
  route: string
  path: string
  headers: Record<string, string>
  caller?: Caller
  ctx?: Ctx
}

export function beginRequest(services: Services, c: Http, route: string): Progress {
  const requestId = toWireId('req', uuidv7(services.clock.nowMs()))
  return {
    requestId,
    startedAt: performance.now(),
    method: c.req.method,
    route,
    path: c.req.path,
    headers: { 'x-request-id': requestId, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
  }
}

/** Ends a request: its log line, its metric, its answer. */
function endRequest(
  services: Services,
  progress: Progress,
  response: Response,
  status: number,
  error?: unknown,
): Response {
  const { requestId, method, route, startedAt, ctx } = progress
  services.requestLog.finish({
    requestId,
    method,
    route,
    status,
    durationMs: Math.round((performance.now() - startedAt) * 100) / 100,
    tenantId: ctx?.tenantId,
    projectId: ctx?.projectId,
    actor: progress.caller && actorText(progress.caller.actor),
    error,
  })
  return response
}

/** Any error as the answer of a request. */
export function answerProblem(services: Services, progress: Progress, error: unknown): Response {
  const problem = toProblem(error, {
    docsBase: services.config.publicUrl,
    requestId: progress.requestId,
    path: progress.path,
  })
  const code: ProblemCode = problem.code
  const response = new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { ...progress.headers, ...problemHeaders(error, code) },
  })
  return endRequest(services, progress, response, problem.status, error)
}

/**
 * The one path of every operation, in this order: who asks, how often, whether they may, what they sent, whether they
 * sent it before; then the handler, then the answer.
 */
export const serveOperation =
  (operation: Operation, services: Services) =>
  async (c: Http): Promise<Response> => {
    const progress = beginRequest(services, c, operation.path)
    try {
      const call = await readCall(operation, services, c, progress)
      const value = await operation.handle(call)
      if (value === alreadyAnswered) return endRequest(services, progress, RESPONSE_ALREADY_SENT, 200)
      return answer(operation, services, progress, call, value)
    } catch (error) {
      return answerProblem(services, progress, error)
    }
  }

async function readCall(
  operation: Operation,
  services: Services,
  c: Http,
  progress: Progress,
): Promise<Call<unknown, unknown, unknown>> {
  const { incoming, outgoing } = c.env
  const header = (name: string): string | undefined => {
    const value = incoming.headers[name]
    return typeof value === 'string' ? value : undefined
  }
  const { access } = operation
  let caller: Caller | undefined
  if (access.kind !== 'public') {
    caller = await services.authenticator.authenticate(header('authorization'))
    progress.caller = caller
    const project = header('meridian-project')
    if (access.kind === 'project' || project !== undefined || caller.kind === 'key') {
      progress.ctx = caller.enter(services, project, progress.requestId)
    }
    await countRequest(services, progress, caller)
    if (access.kind === 'project' && progress.ctx !== undefined) requireScope(progress.ctx, access.scope)
  }
  const params = operation.params && validate(operation.params, c.req.param())
  const query = readQuery(operation, c)
  const body = await readOperationBody(operation, header('content-type'), incoming)
  const idempotency = operation.isCreate
    ? readIdempotency(header('idempotency-key'), caller?.requiresIdempotencyKey(progress.ctx?.projectId) ?? false, {
        method: progress.method,
        path: progress.path,
        body,
      })
    : null
  return {
    params,
    query,
    body,
    idempotency,
    header,
    requestId: progress.requestId,
    responseHeaders: progress.headers,
    incoming,
    outgoing,
    services,
    get ctx() {
      if (progress.ctx === undefined)
        throw new AppError('malformed-request', 'Name a project in the header Meridian-Project.')
      return progress.ctx
    },
    get caller() {
      if (caller === undefined) throw new Error(`${operation.id} is public and has no caller`)
      return caller
    },
  }
}

/** Counts the request against both limits and tells what is left of them. */
async function countRequest(services: Services, progress: Progress, caller: Caller): Promise<void> {
  const { caller: own, tenant } = services.limits
  const ownStanding = await own.take(caller.limitKey)
  const tenantStanding = progress.ctx === undefined ? undefined : await tenant.take(progress.ctx.tenantId)
  progress.headers['ratelimit-policy'] = tenantStanding ? `${own.policy}, ${tenant.policy}` : own.policy
  progress.headers.ratelimit = tenantStanding
    ? `${own.describe(ownStanding)}, ${tenant.describe(tenantStanding)}`
    : own.describe(ownStanding)
  const refusing = ownStanding.isAllowed ? tenantStanding : ownStanding
  if (refusing !== undefined && !refusing.isAllowed) {
    throw new AppError('rate-limited', `Too many requests. The window ends in ${refusing.resetSeconds} s.`, {
      retryAfterSeconds: refusing.resetSeconds,
    })
  }
}

function readQuery(operation: Operation, c: Http): unknown {
  if (operation.query === undefined) return undefined
  const query: Record<string, string | string[]> = {}
  for (const [name, values] of Object.entries(c.req.queries())) {
    query[name] = values.length === 1 && values[0] !== undefined ? values[0] : values
  }
  return validate(operation.query, query)
}

async function readOperationBody(
  { body: schema, isBodyOptional }: Operation,
  contentType: string | undefined,
  incoming: Http['env']['incoming'],
): Promise<unknown> {
  if (schema === undefined) return undefined
  const value = parseBody(contentType, await readBody(incoming))
  if (value === undefined && isBodyOptional !== true)
    throw new AppError('malformed-request', 'The request needs a body.')
  return validate(schema, value ?? (isBodyOptional ? {} : value))
}

function answer(
  operation: Operation,
  services: Services,
  progress: Progress,
  call: Call<unknown, unknown, unknown>,
  value: unknown,
): Response {
  const options: ReplyOptions = value instanceof Reply ? value.options : {}
  const body = value instanceof Reply ? value.value : value
  const { headers } = progress
  if (options.headers !== undefined) Object.assign(headers, options.headers)
  let status = options.status ?? operation.answer.status
  if (status === 204) return endRequest(services, progress, new Response(null, { status, headers }), status)
  const json = JSON.stringify(body)
  if (options.version !== undefined) {
    const etag = toEtag(options.version, json)
    headers.etag = etag
    if (progress.method === 'GET' && matchesEtag(call.header('if-none-match'), etag)) {
      status = 304
      return endRequest(services, progress, new Response(null, { status, headers }), status)
    }
  }
  headers['content-type'] = 'application/json'
  return endRequest(services, progress, new Response(json, { status, headers }), status)
}
