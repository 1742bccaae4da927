import { describe, expect, it } from 'vitest'
import { definitionOf, formOf, type JobDefinition, jsonFault, requestOf, targetOf } from './form.ts'

const job: JobDefinition = {
  name: 'nightly-invoices',
  description: 'Closes the day',
  externalId: 'billing/nightly',
  tags: ['billing', 'nightly'],
  target: {
    type: 'http',
    url: 'https://example.com/hooks/nightly',
    method: 'PUT',
    headers: { 'X-Team': 'billing' },
    body: { dry: false, list: [1, 2] },
    timeout: 'PT45S',
    expect: { status: ['2xx'], json: [{ path: '$.state', equals: 'done' }], notMatches: ['error'] },
    callbacks: { failure: { url: 'https://example.com/told', headers: {} } },
  },
  schedule: { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' },
  queue: 'reports',
  overlap: 'queue-one',
  catchUp: 'all',
  catchUpMax: 7,
  catchUpWindow: 'PT1H',
  pauseAfterFailures: 3,
  afterLastRun: 'delete',
  startWithin: 'PT1H',
  endWithin: null,
  deadLetters: 'drop',
  retry: { limit: 3, delay: 'PT2S', maxDelay: 'PT1M', factor: 3, jitter: 0.07, rules: [{ on: ['4xx'], retry: false }] },
  priority: 1,
}

describe('the form of a job', () => {
  it('opens and saves a job unchanged, also what it does not show', () => {
    expect(definitionOf(formOf(job), job.schedule ?? undefined, job)).toEqual({ definition: job })
  })

  it.each([undefined, null, 'plain text', { a: 1 }, [], 0, false])('keeps the body %j', (body) => {
    const target = { ...job.target, ...(body === undefined ? {} : { body }) }
    if (body === undefined) delete target.body
    expect(targetOf(formOf({ ...job, target })).body).toEqual(body ?? undefined)
  })

  it('begins with the defaults of the API', () => {
    expect(
      definitionOf({ ...formOf(undefined), name: ' a ', url: ' https://example.com ' }, undefined, undefined),
    ).toEqual({
      definition: {
        name: 'a',
        description: null,
        externalId: null,
        tags: [],
        target: { type: 'http', url: 'https://example.com', method: 'POST', headers: {}, timeout: 'PT30S' },
        schedule: null,
        queue: 'default',
        overlap: 'skip',
        catchUp: 'one',
        catchUpMax: 100,
        catchUpWindow: null,
        pauseAfterFailures: null,
        afterLastRun: 'keep',
        startWithin: null,
        endWithin: null,
        deadLetters: 'keep',
        retry: { limit: 5, delay: 'PT0.1S', maxDelay: 'PT1.6S', factor: 2, jitter: 0.2 },
        priority: 3,
      },
    })
  })

  it('takes emptied fields as no limit', () => {
    const form = { ...formOf(job), catchUpWindowMs: undefined, pauseAfterFailures: undefined, startWithinMs: undefined }
    expect(definitionOf(form, undefined, job)).toMatchObject({
      definition: { catchUpMax: 7, catchUpWindow: null, pauseAfterFailures: null, startWithin: null },
    })
    const later = { ...form, catchUpWindowMs: 5_400_000, pauseAfterFailures: 4, afterLastRun: 'archive' as const }
    expect(definitionOf(later, undefined, job)).toMatchObject({
      definition: { catchUpWindow: 'PT1H30M', pauseAfterFailures: 4, afterLastRun: 'archive' },
    })
  })

  it('says where JSON is not JSON', () => {
    const form = { ...formOf(job), body: '{"a":' }
    expect(jsonFault(form)).toMatch(/JSON/)
    expect(definitionOf(form, undefined, job)).toMatchObject({ faults: [{ pointer: '/target/body' }] })
    expect(jsonFault({ bodyKind: 'text', body: '{"a":' })).toBeUndefined()
  })

  it('drops headers without a name', () => {
    const form = {
      ...formOf(undefined),
      headers: [
        { name: ' ', value: 'x' },
        { name: 'A ', value: 'y' },
      ],
    }
    expect(targetOf(form).headers).toEqual({ A: 'y' })
  })

  it('shows the request with the content type that JSON gets', () => {
    expect(requestOf(formOf(job))).toEqual({
      method: 'PUT',
      url: 'https://example.com/hooks/nightly',
      headers: { 'content-type': 'application/json', 'X-Team': 'billing' },
      body: '{"dry":false,"list":[1,2]}',
    })
    const own = { ...formOf(job), headers: [{ name: 'Content-Type', value: 'application/merge-patch+json' }] }
    expect(requestOf(own).headers).toEqual({ 'Content-Type': 'application/merge-patch+json' })
  })
})
