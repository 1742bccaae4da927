import { randomUUID } from 'node:crypto'
import { Api, type Method } from '../api.ts'
import { sleep } from '../wait.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

interface Declared {
  parameters?: { name: string; in: string }[]
  requestBody?: { content: Record<string, { example?: unknown }> }
}

interface OpenApi {
  paths: Record<string, Record<string, Declared>>
}

/** What the neighbour owns, by the name of the path parameter that would name it. */
type Owned = Record<string, string>

const methods = new Set(['get', 'post', 'put', 'patch', 'delete'])

export const row: Row = {
  title: "one tenant's key on every route with the other's ids: the same 404, and not a byte of it",
  async run(world) {
    const neighbour = await world.secondTenant()
    const theirs = new Api(world.api.origin, neighbour.apiKey)
    try {
      const secret = `secret-${randomUUID()}`
      const owned = await furnish(theirs, world, secret)
      const forbidden = [secret, neighbour.tenantId, ...Object.values(owned)]
      const stream = await listen(world, forbidden)
      const document = await world.api.ask<OpenApi>('GET', '/openapi.json')
      await tryEveryRoute(world, document, owned, forbidden)
      await tryReferences(world, owned, forbidden)
      await theirs.ask('POST', '/v1/runs', { target: target(world, secret) })
      await sleep(1_000)
      ensure(stream.leaks().length === 0, `the stream told of the neighbour: ${stream.leaks()[0]}`)
      stream.stop()
      await assertUntouched(theirs, owned)
    } finally {
      await theirs.close()
    }
  },
}

const target = (world: World, secret: string) => ({
  type: 'http',
  url: world.receiver.url('neighbour', 'ok'),
  headers: { 'x-secret': secret },
  body: { secret },
})

/** Gives the neighbour one of everything. */
async function furnish(theirs: Api, world: World, secret: string): Promise<Owned> {
  const dueAt = new Date(Date.now() + 3_600_000).toISOString()
  const job = await theirs.ask<{ id: string; externalId: string }>('POST', '/v1/jobs', {
    name: secret,
    externalId: secret,
    target: target(world, secret),
    schedule: { type: 'cron', cron: '0 0 1 1 *', timezone: 'UTC' },
  })
  const run = await theirs.ask<{ id: string }>('POST', '/v1/runs', {
    target: target(world, secret),
    queue: secret,
    dueAt,
  })
  const queues = await theirs.ask<{ data: { id: string; name: string }[] }>('GET', '/v1/queues')
  const keys = await theirs.ask<{ data: { id: string }[] }>('GET', '/v1/keys')
  const projects = await theirs.ask<{ data: { id: string }[] }>('GET', '/v1/projects')
  const queue = queues.data.find(({ name }) => name === secret)
  await theirs.ask('POST', '/v1/calendars', { name: secret, dates: ['2030-12-24'] })
  const [from, until] = [dueAt, new Date(Date.parse(dueAt) + 3_600_000).toISOString()]
  const blackout = await theirs.ask<{ id: string }>('POST', '/v1/blackouts', { name: secret, from, until })
  const operation = await theirs.ask<{ id: string }>('POST', '/v1/operations', {
    kind: 'jobs.pause',
    filter: { tags: ['on-no-job'] },
    reason: secret,
  })
  const breaker = await theirs.ask<{ id: string }>('POST', '/v1/breakers', { host: `${secret}.example.com` })
  const limit = await theirs.ask<{ id: string }>('POST', '/v1/limits', { name: secret, concurrency: 5 })
  const imported = await theirs.ask<{ id: string }>('POST', '/v1/imports', {
    source: `# ${secret}\n25 6 1 1 * /bin/true\n`,
    timezone: 'Europe/London',
    prefix: 'web-1',
    target: { url: world.receiver.url('neighbour', 'ok') },
  })
  return {
    jobId: job.id,
    externalId: secret,
    runId: run.id,
    queueId: queue?.id ?? '',
    queueName: secret,
    name: secret,
    keyId: keys.data[0]?.id ?? '',
    projectId: projects.data[0]?.id ?? '',
    calendarName: secret,
    blackoutId: blackout.id,
    operationId: operation.id,
    importId: imported.id,
    breakerId: breaker.id,
    limitId: limit.id,
    nominalAt: '2030-01-01T00:00:00.000Z',
    // Only a project that is made for it has one; nobody's is as good as a neighbour's here.
    testClockId: 'clk_01jzzzzzzzfzzrzzzzzzzzzzzz',
  }
}

async function tryEveryRoute(
  world: World,
  { paths }: OpenApi,
  owned: Owned,
  forbidden: readonly string[],
): Promise<void> {
  for (const [template, operations] of Object.entries(paths)) {
    // Whoever knows a ping URL may ping: it is its own key, and it names no tenant.
    if (template.startsWith('/ping/')) continue
    const parameters = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
    const unknown = parameters.find((name) => owned[name] === undefined && !/^(version|attempt)$/.test(name))
    ensure(unknown === undefined, `the test does not know the parameter ${unknown} of ${template}`)
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(owned[name] ?? '1'))
    for (const [method, { requestBody }] of Object.entries(operations).filter(([name]) => methods.has(name))) {
      if (/stream|live/.test(template)) continue
      const answer = await world.api.send(method.toUpperCase() as Method, path, bodyFor(method, template, requestBody))
      // A create by somebody else's external id makes one's own job: the id is free in one's own project.
      const isOwn = template.endsWith('by-external-id/{externalId}') && method === 'put'
      // What only operators may is refused before anybody looks for what it is about.
      const refusals = /\/(un)?pin$/.test(template) ? [403] : [404, 405]
      const allowed = parameters.length === 0 || isOwn ? answer.status < 500 : refusals.includes(answer.status)
      if (isOwn) await world.api.send('DELETE', `/v1/jobs/${String(answer.body.id)}`)
      ensure(allowed, `${method} ${template} was answered ${answer.status}: ${answer.text}`)
      assertSilent(
        `${method} ${template}`,
        `${answer.text}${JSON.stringify(answer.headers)}`,
        isOwn ? [] : forbidden,
        path,
      )
    }
  }
}

/** A body that passes the schema, so that the answer is about whose it is: the document's own example. */
function bodyFor(method: string, template: string, body: Declared['requestBody']): unknown {
  if (method === 'get' || method === 'delete') return undefined
  const example = body?.content['application/json']?.example
  // Without an id in the path it would only make something of our own.
  return template.includes('{') ? (example ?? {}) : {}
}

/** Another's ids in filters and in bodies. */
async function tryReferences(world: World, owned: Owned, forbidden: readonly string[]): Promise<void> {
  const filters = [
    `/v1/runs?jobId=${owned.jobId}`,
    `/v1/runs?queue=${owned.queueName}`,
    `/v1/jobs?externalId=${owned.externalId}`,
  ]
  for (const path of filters) {
    const answer = await world.api.send<{ data?: unknown[] }>('GET', path)
    ensure([200, 404, 422].includes(answer.status), `${path} was answered ${answer.status}`)
    ensure((answer.body.data ?? []).length === 0, `${path} found something`)
    assertSilent(path, answer.text, forbidden, path)
  }
  const cursor = Buffer.from(String(owned.runId)).toString('base64url')
  const paged = await world.api.send('GET', `/v1/runs?cursor=${cursor}`)
  assertSilent('a foreign cursor', paged.text, forbidden, cursor)
}

/** An answer may repeat what was asked, and nothing else of the neighbour. */
function assertSilent(what: string, text: string, forbidden: readonly string[], asked: string): void {
  const leak = forbidden.find((word) => word !== '' && text.replaceAll(asked, '').includes(word))
  ensure(leak === undefined, `${what} tells ${leak}: ${text}`)
}

/** Listens to our own live stream. */
async function listen(world: World, forbidden: readonly string[]): Promise<{ leaks(): string[]; stop(): void }> {
  const controller = new AbortController()
  const response = await fetch(`${world.api.origin}/v1/events/stream`, {
    headers: { ...world.api.headers, accept: 'text/event-stream' },
    signal: controller.signal,
  })
  ensure(response.ok && response.body !== null, `the stream was answered ${response.status}`)
  let heard = ''
  void (async () => {
    for await (const chunk of response.body ?? []) heard += new TextDecoder().decode(chunk)
  })().catch(() => undefined)
  return {
    leaks: () => forbidden.filter((word) => word !== '' && heard.includes(word)),
    stop: () => controller.abort(),
  }
}

async function assertUntouched(theirs: Api, owned: Owned): Promise<void> {
  const job = await theirs.ask<{ name: string; version: number }>('GET', `/v1/jobs/${owned.jobId}`)
  ensure(job.name === owned.externalId && job.version === 1, `the neighbour's job was changed: ${JSON.stringify(job)}`)
  const run = await theirs.ask<{ status: string }>('GET', `/v1/runs/${owned.runId}`)
  ensure(run.status === 'scheduled', `the neighbour's run is ${run.status}`)
}
