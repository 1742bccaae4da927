import { z } from 'zod'
import type { NewJob } from '../job/job.ts'
import { durationValue, toDuration } from '../kernel/duration.ts'
import type { FieldProblem } from '../kernel/errors.ts'
import { toPointer } from '../kernel/parse.ts'
import { httpMethods, httpTargetValue, urlProblems } from '../run/target.ts'
import type { Action, SourceEntry } from './entry.ts'

/** What a command becomes: a request with the command in it. The wire value. */
export const targetTemplateValue = z.strictObject({
  url: z
    .string()
    .min(1)
    .max(2_048)
    .meta({
      description: '`{{command}}`, `{{name}}`, `{{user}}` and `{{key}}` are replaced, here percent-encoded.',
      examples: ['https://runner.example.com/run'],
    }),
  method: z.enum(httpMethods).default('POST'),
  headers: z.record(z.string(), z.string()).default({}),
  body: z
    .unknown()
    .optional()
    .meta({ description: 'With the same placeholders. Left out: an object of command, user, input and environment.' }),
  timeout: durationValue('PT0.1S', 'PT15M').optional(),
})
export type TargetTemplate = z.output<typeof targetTemplateValue>

const timeoutMinMs = 100
const timeoutMaxMs = 900_000

/** The request an entry makes: its own, or the template filled. Null when there is no template and one is needed. */
export function fillTarget(
  entry: SourceEntry,
  { template, allowPrivate }: { template: TargetTemplate | null; allowPrivate: boolean },
): { target: NewJob['target'] | null; problems: FieldProblem[] } {
  const { action } = entry
  const timeout =
    entry.timeoutMs == null
      ? {}
      : { timeout: toDuration(Math.min(timeoutMaxMs, Math.max(timeoutMinMs, entry.timeoutMs))) }
  const filled =
    action.kind === 'http'
      ? { ...timeout, ...action.target }
      : template && { ...timeout, ...fill(entry, action, template) }
  if (filled === null) return { target: null, problems: [] }
  const parsed = httpTargetValue.safeParse(filled)
  if (parsed.success) {
    const refusals = urlProblems(filled.url, { allowPrivate })
    return {
      target: refusals.length === 0 ? filled : null,
      problems: refusals.map((detail) => ({ pointer: '/target/url', detail })),
    }
  }
  const problems = parsed.error.issues.map(({ path, message }) => ({
    pointer: toPointer(['target', ...path]),
    detail: message,
  }))
  return { target: null, problems }
}

type Command = Extract<Action, { kind: 'command' }>

function fill(
  entry: SourceEntry,
  action: Command,
  { url, method, headers, body, timeout }: TargetTemplate,
): NewJob['target'] {
  const values: Readonly<Record<string, string>> = {
    command: action.command,
    name: entry.name,
    user: action.user ?? '',
    key: entry.key,
    input: typeof action.input === 'string' ? action.input : action.input === null ? '' : JSON.stringify(action.input),
  }
  const put = (text: string, encode: (value: string) => string = String): string =>
    text.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) =>
      Object.hasOwn(values, name) ? encode(values[name] ?? '') : whole,
    )
  const inside = (value: unknown): unknown => {
    if (typeof value === 'string') return put(value)
    if (Array.isArray(value)) return value.map(inside)
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inside(each)]))
    return value
  }
  return {
    type: 'http',
    url: put(url, encodeURIComponent),
    method,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, put(value)])),
    ...(method === 'GET' || method === 'HEAD'
      ? body === undefined
        ? {}
        : { body: inside(body) }
      : { body: body === undefined ? plainBody(action) : inside(body) }),
    ...(timeout === undefined ? {} : { timeout }),
  }
}

const plainBody = ({ command, user, input, environment }: Command): Record<string, unknown> => ({
  command,
  ...(user === null ? {} : { user }),
  ...(input === null ? {} : { input }),
  ...(Object.keys(environment).length === 0 ? {} : { environment }),
})
