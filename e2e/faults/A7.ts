import { type Answer, Api, type Method } from '../api.ts'
import { ensure, type Row } from './row.ts'

/** What must never be in an answer: stacks, statements, paths, names from inside. */
const insides = /\bat .+\.(ts|js):\d+|node_modules|\bselect\b.+\bfrom\b|\binsert into\b|pg_|SQLSTATE|\/work\/|\.ts\b/i

const run = { target: { type: 'http', url: 'https://example.com/' } }
const missing = '01h455vb4pex5vsknk084sn02q'

type Case = [
  what: string,
  statuses: readonly number[],
  method: Method,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
]

const cases: readonly Case[] = [
  ['an unknown path', [404], 'GET', '/v1/nothing'],
  ['an unknown path outside of v1', [404], 'GET', '/nothing'],
  ['a wrong method', [404, 405], 'DELETE', '/v1/runs'],
  ['a missing run', [404], 'GET', `/v1/runs/run_${missing}`],
  ['a missing job', [404], 'GET', `/v1/jobs/job_${missing}`],
  ['a missing job to change', [404], 'PATCH', `/v1/jobs/job_${missing}`, { name: 'x' }],
  ['a missing run to cancel', [404], 'POST', `/v1/runs/run_${missing}/cancel`],
  ['a missing run to replay', [404], 'POST', `/v1/runs/run_${missing}/replay`],
  ['a missing key to revoke', [404], 'DELETE', `/v1/keys/key_${missing}`],
  ['an id of another kind', [404, 422, 400], 'GET', `/v1/runs/job_${missing}`],
  ['an id that is none', [404, 422, 400], 'GET', "/v1/runs/'%20or%201=1"],
  ['a path that is no text', [400, 404, 422], 'GET', '/v1/runs/%ff'],
  ['a negative page', [422, 400], 'GET', '/v1/runs?limit=-1'],
  ['a huge page', [422, 400], 'GET', '/v1/runs?limit=1000000'],
  ['a page that is no number', [422, 400], 'GET', '/v1/runs?limit=ten'],
  ['a forged cursor', [400], 'GET', '/v1/runs?cursor=x'],
  ['an unknown status', [422, 400], 'GET', '/v1/runs?status=lazy'],
  ['no body', [400, 422], 'POST', '/v1/runs'],
  ['an empty object', [422], 'POST', '/v1/runs', {}],
  ['half of a document', [400], 'POST', '/v1/runs', '{"target":'],
  ['an array', [422], 'POST', '/v1/runs', []],
  ['a wrong content type', [415], 'POST', '/v1/runs', '<run/>', { 'content-type': 'application/xml' }],
  ['an unknown target', [422], 'POST', '/v1/runs', { target: { type: 'fax' } }],
  ['a bad URL', [422], 'POST', '/v1/runs', { target: { type: 'http', url: 'not a url' } }],
  ['a URL of another scheme', [422], 'POST', '/v1/runs', { target: { type: 'http', url: 'file:///etc/passwd' } }],
  ['a due instant that is none', [422], 'POST', '/v1/runs', { ...run, dueAt: 'soon' }],
  ['an unknown field', [422], 'POST', '/v1/runs', { ...run, colour: 'red' }],
  ['a batch of none', [422], 'POST', '/v1/runs/batch', { runs: [] }],
  ['a batch of too many', [422], 'POST', '/v1/runs/batch', { runs: Array.from({ length: 1_001 }, () => run) }],
  [
    'a bad cron',
    [422],
    'POST',
    '/v1/schedules/preview',
    { schedule: { type: 'cron', cron: '61 * * * *', timezone: 'UTC' }, count: 1 },
  ],
  [
    'a bad zone',
    [422],
    'POST',
    '/v1/schedules/preview',
    { schedule: { type: 'cron', cron: '0 0 * * *', timezone: 'Mars/Base' }, count: 1 },
  ],
  ['a job without a name', [422], 'POST', '/v1/jobs', { target: run.target }],
]

export const row: Row = {
  title: 'thirty error paths: problem+json with a documented type, and nothing from inside',
  async run(world) {
    const neighbour = await world.secondTenant()
    const types = new Set<string>()
    const check = (what: string, statuses: readonly number[], answer: Answer) => {
      const { body } = answer
      ensure(statuses.includes(answer.status), `${what} was answered ${answer.status}: ${answer.text}`)
      ensure(String(answer.headers['content-type']).startsWith('application/problem+json'), `${what}: no problem body`)
      const code = String(body.code)
      ensure(String(body.type).endsWith(`/problems/${code}`), `${what}: the type is ${String(body.type)}`)
      types.add(String(body.type))
      ensure(body.status === answer.status && typeof body.title === 'string', `${what}: ${answer.text}`)
      ensure(String(body.requestId).startsWith('req_'), `${what}: no request id`)
      ensure(!insides.test(answer.text), `${what} tells of the inside: ${answer.text}`)
      ensure(!answer.text.includes(neighbour.tenantId), `${what} names another tenant`)
    }
    for (const [what, statuses, method, path, body, headers] of cases) {
      check(what, statuses, await world.api.send(method, path, body, headers))
    }
    const strangers: [string, string][] = [
      ['no key', ''],
      ['a wrong key', `mk_${'x'.repeat(43)}`],
      ['a key that is none', 'x'],
    ]
    for (const [what, apiKey] of strangers) {
      const api = new Api(world.api.origin, apiKey)
      check(what, [401], await api.send('GET', '/v1/runs'))
      await api.close()
    }
    for (const type of types) {
      const { status, text } = await world.api.send('GET', new URL(type).pathname)
      ensure(status === 200 && text.length > 100, `${type} explains nothing`)
    }
  },
}
