import { toWireId } from '@meridian/core/kernel/ids'
import { keyTypes, scopes } from '@meridian/core/run/create-key'
import type { Attempt, RequestView, ResponseView } from '@meridian/core/run/get'
import type { RunLogLine } from '@meridian/core/run/logs'
import { logLineLevels } from '@meridian/core/run/logs'
import type { Run } from '@meridian/core/run/run'
import { runSources, runStatuses } from '@meridian/core/run/run'
import { z } from 'zod'
import { instant, toInstant, toInstantOrNull, toWireIdOrNull, wireId } from './values.ts'

export const runStatus = z.enum(runStatuses).meta({ id: 'RunStatus' })
export const runSource = z.enum(runSources).meta({ id: 'RunSource', description: 'What started it.' })

const milliseconds = z.int().nullable()

export const runWire = z
  .strictObject({
    id: wireId('run'),
    status: runStatus,
    source: runSource,
    jobId: wireId('job').nullable().meta({ description: 'null for an ad hoc run.' }),
    jobVersion: z.int().nullable(),
    queue: z.string(),
    priority: z.int(),
    attempt: z.int().meta({ description: 'Attempts begun so far.' }),
    attemptsMax: z.int().nullable().meta({ description: 'null once it has ended.' }),
    createdAt: instant,
    dueAt: instant.meta({ description: 'When its next, or its last, attempt is due.' }),
    nominalAt: instant.nullable().meta({ description: 'The instant of its schedule, which never moves.' }),
    startedAt: instant.nullable(),
    finishedAt: instant.nullable(),
    durationMs: milliseconds,
    latenessMs: milliseconds.meta({ description: 'Start of the last attempt minus its due instant.' }),
    httpStatus: z.int().nullable(),
    error: z
      .string()
      .nullable()
      .meta({ description: 'Machine code of what went wrong.', examples: ['timeout'] }),
    replayOf: wireId('run').nullable(),
    tags: z.array(z.string()).meta({ description: 'Its own, and those of its job.' }),
    metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
    createKey: z
      .strictObject({ type: z.enum(Object.values(keyTypes)), key: z.string(), scope: z.enum(scopes) })
      .meta({ id: 'CreateKey' })
      .nullable()
      .meta({
        description: 'Under which key other creates find it, or found it: of deduplication, debouncing or batching.',
      }),
    callbackOf: wireId('run').nullable().meta({ description: 'The run whose end this one tells.' }),
    batchRunId: wireId('run').nullable().meta({ description: 'The run that performs it together with others.' }),
  })
  .meta({ id: 'Run' })

export const runToWire = (run: Run): z.output<typeof runWire> => ({
  id: toWireId('run', run.id),
  status: run.status,
  source: run.source,
  jobId: toWireIdOrNull('job', run.jobId),
  jobVersion: run.jobVersion,
  queue: run.queueName,
  priority: run.priority,
  attempt: run.attempt,
  attemptsMax: run.attemptsMax,
  createdAt: toInstant(run.createdAt),
  dueAt: toInstant(run.dueAt),
  nominalAt: toInstantOrNull(run.nominalAt),
  startedAt: toInstantOrNull(run.startedAt),
  finishedAt: toInstantOrNull(run.finishedAt),
  durationMs: run.durationMs,
  latenessMs: run.latenessMs,
  httpStatus: run.httpStatus,
  error: run.error,
  replayOf: toWireIdOrNull('run', run.replayOf),
  tags: [...run.tags],
  metadata: run.metadata,
  createKey: run.createKey,
  callbackOf: toWireIdOrNull('run', run.callbackOf),
  batchRunId: toWireIdOrNull('run', run.batchRunId),
})

export const attemptWire = z
  .strictObject({
    attempt: z.int(),
    status: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
    fence: z.int().meta({ description: 'Raised by every admission; a report that carries an older one is refused.' }),
    dueAt: instant,
    startedAt: instant.nullable(),
    finishedAt: instant.nullable(),
    durationMs: milliseconds,
    httpStatus: z.int().nullable(),
    error: z.string().nullable(),
    retryAt: instant.nullable().meta({ description: 'When the next attempt is due.' }),
  })
  .meta({ id: 'Attempt' })

export const attemptToWire = (attempt: Attempt): z.output<typeof attemptWire> => ({
  attempt: attempt.attempt,
  status: attempt.status,
  fence: attempt.fence,
  dueAt: toInstant(attempt.dueAt),
  startedAt: toInstantOrNull(attempt.startedAt),
  finishedAt: toInstantOrNull(attempt.finishedAt),
  durationMs: attempt.durationMs,
  httpStatus: attempt.httpStatus,
  error: attempt.error,
  retryAt: toInstantOrNull(attempt.retryAt),
})

const body = z.string().nullable()
const bodyEncoding = z.enum(['utf8', 'base64'])

export const runRequestWire = z
  .strictObject({
    method: z.string(),
    url: z.string(),
    headers: z.record(z.string(), z.string()),
    timeoutMs: z.int(),
    body,
    bodyEncoding,
  })
  .meta({ id: 'RunRequest' })

export const runRequestToWire = (view: RequestView): z.output<typeof runRequestWire> => view

export const runResponseWire = z
  .strictObject({
    httpStatus: z.int(),
    headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    body,
    bodyEncoding,
    isTruncated: z.boolean().meta({ description: 'The target sent more than is kept.' }),
    redirectedTo: z.string().nullable(),
    objectKey: z
      .string()
      .nullable()
      .meta({ description: 'Where the whole body lies in the object store, when it was large.' }),
  })
  .meta({ id: 'RunResponse' })

export const runResponseToWire = ({ truncated, ...view }: ResponseView): z.output<typeof runResponseWire> => ({
  httpStatus: view.httpStatus,
  headers: view.headers,
  body: view.body,
  bodyEncoding: view.bodyEncoding,
  isTruncated: truncated,
  redirectedTo: view.redirectedTo,
  objectKey: view.objectKey,
})

export const logLineWire = z
  .strictObject({ at: instant, attempt: z.int(), level: z.enum(logLineLevels), message: z.string() })
  .meta({ id: 'LogLine' })

export const logLineToWire = ({ at, attempt, level, message }: RunLogLine): z.output<typeof logLineWire> => ({
  at: toInstant(at),
  attempt,
  level,
  message,
})
