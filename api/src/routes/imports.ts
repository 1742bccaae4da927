import { withIdempotency } from '@meridian/core/access/idempotency'
import { createImport, planOnly } from '@meridian/core/import/create'
import { getImport, listImports } from '@meridian/core/import/get'
import { openImportPingUrls, reportImport } from '@meridian/core/import/report'
import { switchImport } from '@meridian/core/import/switch'
import { durationMs, durationValue } from '@meridian/core/kernel/duration'
import { validationFailed } from '@meridian/core/kernel/errors'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { needs, operation, Reply } from '../http/operation.ts'
import {
  importSummaryToWire,
  importSummaryWire,
  importToWire,
  importWire,
  newImport,
  plannedImportToWire,
  reportToWire,
  reportWire,
  switchedToWire,
  switchedWire,
} from '../wire/import.ts'
import { jobMode } from '../wire/job.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { dryRunFlag, instantInput, pathId, wholeNumber, wireId } from '../wire/values.ts'
import { pingUrlText } from './pings.ts'

const importParams = z.object({ importId: pathId('imp') })

const create = operation({
  id: 'createImport',
  method: 'post',
  path: '/v1/imports',
  tag: 'Imports',
  summary: 'Take over the schedules of another system',
  description:
    'Each line or entry becomes a job with a stable external id, so that a second import updates. What can not become one is left out and told. With `dryRun=true` nothing is written: see what each line becomes and what differs.',
  access: needs('jobs:write'),
  query: z.strictObject({ dryRun: dryRunFlag('Tells what it would do, and writes nothing.') }),
  body: newImport,
  example: {
    source: '# Nightly invoices\n25 6 * * * /usr/local/bin/invoices --all\n',
    timezone: 'Europe/London',
    prefix: 'web-1',
    target: { url: 'https://runner.example.com/run' },
  },
  isCreate: true,
  answer: { status: 201, description: 'The import.', schema: importWire },
  otherwise: { status: 200, description: 'A dry run: what it would do.' },
  async handle({ ctx, query, body, idempotency, services }) {
    const options = { allowPrivate: services.config.allowPrivateTargets }
    if (query.dryRun) return new Reply(plannedImportToWire(await planOnly(ctx, body, options)), { status: 200 })
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const made = await createImport(tx, body, options)
      return { subject: made.id, answer: importToWire(made) }
    })
    return new Reply(answer, replayed ? { headers: { 'idempotency-replayed': 'true' } } : {})
  },
})

const list = operation({
  id: 'listImports',
  method: 'get',
  path: '/v1/imports',
  tag: 'Imports',
  summary: 'List imports, newest first',
  access: needs('jobs:read'),
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of imports.', schema: pageOf(importSummaryWire) },
  handle: async ({ ctx, query }) => toPage(await listImports(ctx, toPageRequest(query)), importSummaryToWire),
})

const get = operation({
  id: 'getImport',
  method: 'get',
  path: '/v1/imports/{importId}',
  tag: 'Imports',
  summary: 'Get an import, as it was made',
  access: needs('jobs:read'),
  params: importParams,
  answer: { status: 200, description: 'The import.', schema: importWire },
  handle: async ({ ctx, params }) => importToWire(await getImport(ctx, params.importId)),
})

const switchAll = operation({
  id: 'switchImport',
  method: 'post',
  path: '/v1/imports/{importId}/switch',
  tag: 'Imports',
  summary: 'Switch all jobs of an import at once',
  description: 'From shadow to live, or back: all of them at one instant, or none.',
  access: needs('jobs:write'),
  params: importParams,
  body: z.strictObject({ mode: jobMode }).meta({ id: 'SwitchImport' }),
  example: { mode: 'live' },
  answer: { status: 200, description: 'The jobs, as they are now.', schema: switchedWire },
  handle: async ({ ctx, params, body }) => switchedToWire(await switchImport(ctx, params.importId, body.mode)),
})

const dayMs = 86_400_000
const rangeMaxMs = 35 * dayMs

const report = operation({
  id: 'getImportReport',
  method: 'get',
  path: '/v1/imports/{importId}/report',
  tag: 'Imports',
  summary: 'Hold the instants of an import against the pings of the old system',
  description: 'Of the last day, unless `from` and `to` say otherwise; at most 35 days.',
  access: needs('jobs:read'),
  params: importParams,
  query: z.strictObject({
    from: instantInput.optional().meta({ description: 'At this instant or later.' }),
    to: instantInput.optional().meta({ description: 'Before this instant.' }),
    grace: durationValue('PT1M', 'PT24H')
      .default('PT15M')
      .meta({ description: 'A ping that is later than this is missing.' }),
    buckets: wholeNumber(1, 200).default(48),
  }),
  answer: { status: 200, description: 'The report.', schema: reportWire },
  async handle({ ctx, params, query }) {
    const to = query.to ?? new Date(ctx.clock.nowMs())
    const from = query.from ?? new Date(to.getTime() - dayMs)
    if (from >= to) throw validationFailed([{ pointer: '/from', detail: 'must be before `to`' }])
    if (to.getTime() - from.getTime() > rangeMaxMs)
      throw validationFailed([{ pointer: '/from', detail: 'must be at most 35 days before `to`' }])
    const range = { from, to, graceMs: durationMs(query.grace) ?? 0, buckets: query.buckets }
    return reportToWire(await reportImport(ctx, params.importId, range))
  },
})

const pingUrls = operation({
  id: 'openImportPingUrls',
  method: 'post',
  path: '/v1/imports/{importId}/ping-urls',
  tag: 'Imports',
  summary: 'Get the ping URL of each job of an import',
  description: 'Made where there is none. The old system calls them, so that the report can tell what it did.',
  access: needs('jobs:write'),
  params: importParams,
  answer: {
    status: 200,
    description: 'The URLs.',
    schema: z
      .strictObject({
        data: z.array(
          z
            .strictObject({ jobId: wireId('job'), line: z.int(), name: z.string(), url: z.string() })
            .meta({ id: 'ImportPingUrl' }),
        ),
      })
      .meta({ id: 'ImportPingUrls' }),
  },
  async handle({ ctx, params, services }) {
    const urls = await openImportPingUrls(ctx, params.importId)
    return {
      data: urls.map(({ jobId, line, name, token }) => ({
        jobId: toWireId('job', jobId),
        line,
        name,
        url: pingUrlText(services, token),
      })),
    }
  },
})

export const importOperations = [create, list, get, switchAll, report, pingUrls]
