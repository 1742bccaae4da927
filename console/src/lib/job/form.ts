import type { JobVersionDefinition, Target } from '@meridian/sdk'
import type { CurlRequest } from '#lib/code/curl.ts'
import type { Schedule, ScheduleFault } from '#lib/schedule/schedule.ts'
import { parseIsoDuration, toIsoDuration } from '#lib/time/duration.ts'
import { type CallbackForm, callbackFormOf, callbacksOf } from './callback-form.ts'
import { type ExpectForm, expectFormOf, expectOf } from './expect-form.ts'
import { type HeaderForm, headerForms, headersOf } from './header-form.ts'
import { type RetryForm, retryFormOf, retryOf } from './retry-form.ts'

/** A job as it is stored, whole: what the form reads and writes. */
export type JobDefinition = JobVersionDefinition & { target: Target }

export const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const satisfies Target['method'][]

/** A job as the form has it: texts and numbers as they are typed. */
export interface JobForm {
  name: string
  description: string
  externalId: string
  tags: string
  method: Target['method']
  url: string
  headers: HeaderForm[]
  bodyKind: 'none' | 'json' | 'text'
  body: string
  timeoutMs: number | undefined
  expect: ExpectForm
  callbacks: CallbackForm
  queue: string
  overlap: JobDefinition['overlap']
  catchUp: JobDefinition['catchUp']
  /** The most instants that are made up for. */
  catchUpMax: number | undefined
  /** Nothing older than that is made up for; undefined: however old. */
  catchUpWindowMs: number | undefined
  /** Undefined: it never pauses itself. */
  pauseAfterFailures: number | undefined
  afterLastRun: JobDefinition['afterLastRun']
  retry: RetryForm
  /** How long after it was due a run may begin, and end; undefined: however long. */
  startWithinMs: number | undefined
  endWithinMs: number | undefined
  deadLetters: JobDefinition['deadLetters']
  priority: number
}

/** The form of a stored job, or of a new one. */
export function formOf(job: JobDefinition | undefined): JobForm {
  const target = job?.target
  const body = target?.body ?? null
  return {
    name: job?.name ?? '',
    description: job?.description ?? '',
    externalId: job?.externalId ?? '',
    tags: job?.tags.join(', ') ?? '',
    method: target?.method ?? 'POST',
    url: target?.url ?? '',
    headers: headerForms(target?.headers),
    bodyKind: body === null ? 'none' : typeof body === 'string' ? 'text' : 'json',
    body: body === null ? '' : typeof body === 'string' ? body : JSON.stringify(body, null, 2),
    timeoutMs: optionalMs(target?.timeout) ?? defaultTimeoutMs,
    expect: expectFormOf(target?.expect),
    callbacks: callbackFormOf(target?.callbacks),
    queue: job?.queue ?? 'default',
    overlap: job?.overlap ?? 'skip',
    catchUp: job?.catchUp ?? 'one',
    catchUpMax: job?.catchUpMax ?? defaultCatchUpMax,
    catchUpWindowMs: optionalMs(job?.catchUpWindow),
    pauseAfterFailures: job?.pauseAfterFailures ?? undefined,
    afterLastRun: job?.afterLastRun ?? 'keep',
    retry: retryFormOf(job?.retry),
    startWithinMs: optionalMs(job?.startWithin),
    endWithinMs: optionalMs(job?.endWithin),
    deadLetters: job?.deadLetters ?? 'keep',
    priority: job?.priority ?? 3,
  }
}

/** The target that the form means. Throws a `SyntaxError` when the body should be JSON and is not. */
export function targetOf(form: JobForm): Target {
  const { expect } = expectOf(form.expect)
  const callbacks = callbacksOf(form.callbacks)
  return {
    type: 'http',
    url: form.url.trim(),
    method: form.method,
    headers: headersOf(form.headers),
    ...(form.bodyKind === 'none'
      ? {}
      : { body: form.bodyKind === 'json' ? (JSON.parse(form.body) as unknown) : form.body }),
    timeout: toIsoDuration(form.timeoutMs ?? defaultTimeoutMs),
    ...(expect === undefined ? {} : { expect }),
    ...(callbacks === undefined ? {} : { callbacks }),
  }
}

/** What to send to the API, or what is wrong with the form as far as the form itself can tell. */
export function definitionOf(
  form: JobForm,
  schedule: Schedule | undefined,
  before: JobDefinition | undefined,
): { definition: JobDefinition } | { faults: ScheduleFault[] } {
  if (jsonFault(form)) return { faults: [{ pointer: '/target/body', detail: `Not JSON: ${jsonFault(form)}` }] }
  const { retry, faults } = retryOf(form.retry, before?.retry)
  const open = [...expectOf(form.expect).faults, ...faults]
  if (open.length > 0) return { faults: open }
  return {
    definition: {
      name: form.name.trim(),
      description: form.description.trim() || null,
      externalId: form.externalId.trim() || null,
      tags: form.tags.split(/[\s,]+/).filter(Boolean),
      target: targetOf(form),
      schedule: schedule ?? null,
      queue: form.queue.trim(),
      overlap: form.overlap,
      catchUp: form.catchUp,
      catchUpMax: form.catchUpMax ?? defaultCatchUpMax,
      catchUpWindow: optionalDuration(form.catchUpWindowMs),
      pauseAfterFailures: form.pauseAfterFailures ?? null,
      afterLastRun: form.afterLastRun,
      startWithin: optionalDuration(form.startWithinMs),
      endWithin: optionalDuration(form.endWithinMs),
      deadLetters: form.deadLetters,
      retry,
      priority: form.priority,
    },
  }
}

/** Why the body is not the JSON that it should be; undefined when it is, or need not be. */
export function jsonFault(form: Pick<JobForm, 'bodyKind' | 'body'>): string | undefined {
  if (form.bodyKind !== 'json') return undefined
  try {
    JSON.parse(form.body)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : 'cannot be read'
  }
}

/** The request that a run of the form sends, for showing it as `curl`. */
export function requestOf(form: JobForm): CurlRequest {
  const headers = headersOf(form.headers)
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  const body = form.bodyKind === 'none' ? undefined : form.bodyKind === 'json' ? compactJson(form.body) : form.body
  return {
    method: form.method,
    url: form.url.trim() || 'https://',
    headers: form.bodyKind === 'json' && !hasType ? { 'content-type': 'application/json', ...headers } : headers,
    body,
  }
}

function compactJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

const defaultTimeoutMs = 30_000
const defaultCatchUpMax = 100

const optionalMs = (duration: string | null | undefined) => (duration ? parseIsoDuration(duration) : undefined)
const optionalDuration = (milliseconds: number | undefined) =>
  milliseconds === undefined ? null : toIsoDuration(milliseconds)
