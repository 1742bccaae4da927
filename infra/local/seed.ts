import { isDeepStrictEqual } from 'node:util'
import type { TenantPlan } from '@meridian/core/access/bootstrap'
import { readJson, writeJson } from './home.ts'
import { Refusal } from './progress.ts'
import { projectSlug, type Stack, tenantSlug } from './stack.ts'

/** The demo tenant: two projects, the people who may sign in, one API key with every scope. */
export const tenantPlan = (stack: Stack): TenantPlan => ({
  slug: tenantSlug,
  name: 'Acme',
  projects: [
    { slug: projectSlug, name: 'Billing', label: 'production' },
    { slug: 'staging', name: 'Staging', label: 'staging' },
  ],
  people: stack.people.map(({ email, name, role, subject }) => ({ email, name, role, subject, issuer: stack.issuer })),
  apiKey: { name: 'local', secret: stack.secrets.apiKey },
})

interface DemoJob {
  externalId: string
  paused?: string
  definition: Record<string, unknown>
}

const demoJobs = (target: string): DemoJob[] => [
  {
    externalId: 'demo-nightly-invoices',
    definition: {
      name: 'Nightly invoices',
      target: { type: 'http', method: 'POST', url: `${target}/slow`, body: { task: 'invoices' } },
      schedule: { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' },
    },
  },
  {
    externalId: 'demo-heartbeat',
    definition: {
      name: 'Heartbeat',
      target: { type: 'http', method: 'POST', url: `${target}/ok`, body: { beat: true } },
      schedule: { type: 'cron', cron: '* * * * *', timezone: 'UTC' },
    },
  },
  {
    externalId: 'demo-flaky-import',
    definition: {
      name: 'Import from a flaky partner',
      target: { type: 'http', method: 'POST', url: `${target}/flaky`, body: { partner: 'north' } },
      schedule: { type: 'every', every: 'PT5M' },
      overlap: 'skip',
    },
  },
  {
    externalId: 'demo-hourly-report',
    definition: {
      name: 'Hourly report',
      target: { type: 'http', method: 'POST', url: `${target}/ok`, body: { report: 'hourly' } },
      schedule: { type: 'cron', cron: '0 * * * *', timezone: 'America/New_York' },
    },
  },
  {
    externalId: 'demo-legacy-export',
    paused: 'The partner is moving its servers.',
    definition: {
      name: 'Legacy export',
      target: { type: 'http', method: 'POST', url: `${target}/fail`, body: { export: 'legacy' } },
      schedule: { type: 'cron', cron: '0 4 * * MON-FRI', timezone: 'Europe/Berlin' },
    },
  },
]

/**
 * Puts the demo jobs through the API and with the key, as anybody would. Once a database: what a person changed or
 * deleted since stays so.
 */
export async function seedJobs(stack: Stack, tenantId: string): Promise<void> {
  const file = stack.home.file('seeded.json')
  const seeded = { tenantId, target: stack.urls.demoTarget }
  if (isDeepStrictEqual(readJson(file), seeded)) return
  await Promise.all(demoJobs(stack.urls.demoTarget).map((job) => putJob(stack, job)))
  writeJson(file, seeded)
}

async function putJob(stack: Stack, { externalId, paused, definition }: DemoJob): Promise<void> {
  const { status, body } = await call(stack, 'PUT', `/v1/jobs/by-external-id/${externalId}`, definition)
  // Only a new job is paused: what somebody resumed stays resumed.
  if (paused !== undefined && status === 201) {
    await call(stack, 'POST', `/v1/jobs/${String(body.id)}/pause`, { reason: paused })
  }
}

async function call(
  { urls, secrets }: Stack,
  method: string,
  path: string,
  body: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${urls.api}${path}`, {
    method,
    headers: { authorization: `Bearer ${secrets.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.text()
  if (!response.ok) throw new Refusal(`${method} ${path} answered ${response.status}: ${answer}`)
  return { status: response.status, body: JSON.parse(answer) as Record<string, unknown> }
}
