import type { Ctx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { toDeadlines } from '../run/deadline.ts'
import { bodyBytes, decodeRequest, encodeRequest, toRequest } from '../run/request-codec.ts'
import { toRetryPolicy } from '../run/retry-policy.ts'
import { type CallbackEnd, type Callbacks, toldEnds } from '../run/target.ts'
import type { JobDefinition, OpenDefinition, SeenTarget } from './job.ts'

/** What of a target is no secret, kept beside its envelope so that it reads back as it was written. */
interface TargetShape {
  type: 'http'
  timeout: string
  body: 'none' | 'text' | 'json'
  /** The ends of its runs that somebody is told of; absent: nobody. */
  callbacks?: CallbackEnd[]
}

/** A definition as `job_versions` keeps it: the open part as JSON, the target as the request an executor performs. */
export interface StoredDefinition {
  open: OpenDefinition & { target: TargetShape }
  request: Buffer
}

/** The pure half of storing a definition. Equal definitions give equal JSON and equal bytes. */
export function toStored({ target, ...open }: JobDefinition): StoredDefinition {
  const body = bodyBytes(target.body)
  const request = toRequest(target, toRetryPolicy(open.retry), toDeadlines(open))
  const told = toldEnds(target.callbacks)
  const kind = body === null ? 'none' : typeof target.body === 'string' ? 'text' : 'json'
  // Through JSON once, so that what was undefined is absent here as it is in the database.
  const json = JSON.parse(
    JSON.stringify({
      ...open,
      tags: [...new Set(open.tags)],
      target: {
        type: target.type,
        timeout: target.timeout,
        body: kind,
        ...(told.length > 0 ? { callbacks: told } : {}),
      },
    }),
  ) as StoredDefinition['open']
  return { open: json, request: encodeRequest(request, body) }
}

/** What older definitions do not say yet. */
const laterFields = {
  catchUpMax: 100,
  catchUpWindow: null,
  pauseAfterFailures: null,
  afterLastRun: 'keep',
  startWithin: null,
  endWithin: null,
  deadLetters: 'keep',
} satisfies Partial<OpenDefinition>

/** The definition behind its stored form, without its target. */
export function openOf({ target: _, ...open }: StoredDefinition['open']): OpenDefinition {
  return { ...laterFields, ...open }
}

/** The definition behind its stored form. */
export function fromStored({ open: { target: shape, ...open }, request }: StoredDefinition): JobDefinition {
  const { method, url, headers, body, expect, callbacks } = decodeRequest(request)
  const text = body?.toString() ?? ''
  return {
    ...laterFields,
    ...open,
    target: {
      type: shape.type,
      method: method as JobDefinition['target']['method'],
      url,
      headers,
      timeout: shape.timeout,
      ...(expect === undefined ? {} : { expect }),
      ...(callbacks === undefined ? {} : { callbacks }),
      ...(shape.body === 'none' ? {} : { body: shape.body === 'json' ? (JSON.parse(text) as unknown) : text }),
    },
  }
}

/** A job's target as this caller may see it. `sealed` is the envelope of `jobId`'s version. */
export async function seeTarget(
  ctx: Ctx,
  jobId: Uuid,
  open: StoredDefinition['open'],
  sealed: Buffer,
): Promise<SeenTarget> {
  const { target } = fromStored({ open, request: await ctx.keyRing.open(ctx.tenantId, jobId, sealed) })
  if (ctx.scopes.has('payloads:read')) return { target, isTargetReduced: false }
  const { type, method, timeout, expect, callbacks } = target
  const seen = {
    type,
    method,
    timeout,
    url: seenUrl(target.url),
    headers: {},
    ...(expect === undefined ? {} : { expect }),
    ...(callbacks === undefined ? {} : { callbacks: seenCallbacks(callbacks) }),
  }
  return { target: seen, isTargetReduced: true }
}

function seenUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

const seenCallbacks = (callbacks: Callbacks): Callbacks =>
  Object.fromEntries(toldEnds(callbacks).map((end) => [end, { url: seenUrl(callbacks[end]?.url ?? ''), headers: {} }]))
