import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Scope } from '@meridian/core/access/scope'
import type { Ctx } from '@meridian/core/db/context'
import type { z } from 'zod'
import type { Caller } from './auth.ts'
import type { Services } from './env.ts'
import type { Idempotency } from './idempotency.ts'
import type { ProblemCode } from './problems.ts'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/**
 * Who may call. `project`: a key or session with a project, and the scope; `signed-in`: any key or session, with or
 * without a project; `public`: anybody.
 */
export type Access = { kind: 'project'; scope: Scope } | { kind: 'signed-in' } | { kind: 'public' }

export const needs = (scope: Scope): Access => ({ kind: 'project', scope })
export const signedIn: Access = { kind: 'signed-in' }
export const anybody: Access = { kind: 'public' }

/** One request, parsed: what a handler gets. */
export interface Call<Params, Query, Body> {
  params: Params
  query: Query
  body: Body
  /** Throws `malformed-request` when a session named no project. */
  readonly ctx: Ctx
  readonly caller: Caller
  /** The key a create was sent with, and the print of what it asks for. */
  idempotency: Idempotency | null
  header(name: string): string | undefined
  requestId: string
  /** What every answer carries; for a handler that answers by itself. */
  responseHeaders: Record<string, string>
  incoming: IncomingMessage
  outgoing: ServerResponse
  services: Services
}

/** An answer that is more than its value. */
export class Reply<Value> {
  readonly value: Value
  readonly options: ReplyOptions
  constructor(value: Value, options: ReplyOptions) {
    this.value = value
    this.options = options
  }
}

export interface ReplyOptions {
  status?: number
  headers?: Record<string, string>
  /** Version of the resource: makes an ETag of it, and a 304 of a GET that has this representation. */
  version?: number
}

/** The handler has written to the socket itself. */
export const alreadyAnswered = Symbol('already answered')

export interface OperationDefinition<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
> {
  /** `operationId` of the document, and the name of the SDK's function. */
  id: string
  method: Method
  /** With `{parameter}`s, as in the document. */
  path: string
  tag: string
  summary: string
  description?: string
  access: Access
  params?: Params
  query?: Query
  body?: Body
  /** A request without a body counts as `{}`. */
  isBodyOptional?: boolean
  /** An example body that is valid. */
  example?: unknown
  /** Makes something: honours `Idempotency-Key`. */
  isCreate?: boolean
  /** Takes `If-Match`. */
  isGuarded?: boolean
  /** Another success of the same shape. */
  otherwise?: { status: 200 | 201; description: string }
  /** Gives an ETag and takes `If-None-Match`. */
  hasEtag?: boolean
  answer: { status: 200 | 201 | 204; description: string; schema?: Answer; mediaType?: string; example?: unknown }
  /** Problems beside those that every operation of its kind can answer. */
  problems?: readonly ProblemCode[]
  handle(
    call: Call<z.output<Params>, z.output<Query>, z.output<Body>>,
  ): Promise<z.output<Answer> | Reply<z.output<Answer>> | typeof alreadyAnswered>
}

/** An operation as the router and the document see it, whatever its types. */
export interface Operation {
  id: string
  method: Method
  path: string
  tag: string
  summary: string
  description?: string
  access: Access
  params?: z.ZodType
  query?: z.ZodType
  body?: z.ZodType
  isBodyOptional?: boolean
  example?: unknown
  isCreate?: boolean
  isGuarded?: boolean
  otherwise?: { status: 200 | 201; description: string }
  hasEtag?: boolean
  answer: { status: 200 | 201 | 204; description: string; schema?: z.ZodType; mediaType?: string; example?: unknown }
  problems?: readonly ProblemCode[]
  handle(call: Call<unknown, unknown, unknown>): Promise<unknown>
}

type Nothing = z.ZodVoid

/** Declares an operation: its place in the document and its handler, in one piece. */
export const operation = <
  Params extends z.ZodType = Nothing,
  Query extends z.ZodType = Nothing,
  Body extends z.ZodType = Nothing,
  Answer extends z.ZodType = Nothing,
>(
  definition: OperationDefinition<Params, Query, Body, Answer>,
  // The handler is only ever called with what the schemas beside it made.
): Operation => definition as unknown as Operation
