import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Meridian, MeridianProblem } from '@meridian/sdk'
import { afterAll, expect, test } from 'vitest'
import { waitFor } from '../wait.ts'
import { Person } from './person.ts'

const person = await Person.meet()
afterAll(() => person.leave())

const meridian = new Meridian({ baseUrl: person.api.origin, apiKey: person.stack.apiKey })

/** The ten lines that the README shows, as a program; only its target is one of ours. */
function exampleOfReadme(): string {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
  const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? []
  expect(example).toContain('https://example.com/')
  return example.replace(/https:\/\/example\.com\/[^']*/, person.receiver.url(person.label, 'ok'))
}

test('the example of the README works as it stands', async () => {
  const folder = join(import.meta.dirname, '../test-results')
  mkdirSync(folder, { recursive: true })
  const program = join(folder, `readme-${process.pid}.ts`)
  writeFileSync(program, exampleOfReadme())
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program], {
      cwd: folder,
      env: { ...process.env, MERIDIAN_URL: person.api.origin, MERIDIAN_API_KEY: person.stack.apiKey },
      timeout: 30_000,
    })
    expect(stdout).toMatch(/^(ready|queued|running|succeeded) \d{4}-\d\d-\d\dT/m)
  } finally {
    rmSync(program)
  }
  await waitFor('the call', async () => (await person.receiver.count(person.label)) > 0)
})

test('a program follows a run from its creation to its end', async () => {
  const stream = new AbortController()
  const seen: string[] = []
  const following = (async () => {
    for await (const event of meridian.events.stream({ signal: stream.signal })) seen.push(event.type)
  })().catch(() => undefined)
  const { url, body } = person.target()
  const run = await meridian.runs.create({ target: { type: 'http', url, body } })
  await waitFor('the run to end', async () => (await meridian.runs.get(run.id)).status === 'succeeded')
  await waitFor('the stream to tell', () => seen.includes('run.succeeded'))
  expect(seen).toContain('run.created')
  stream.abort()
  await following
})

test('what is refused comes as a typed problem that says where', async () => {
  const target = { type: 'http' as const, url: person.target().url }
  const schedule = { type: 'cron' as const, cron: '61 * * * *', timezone: 'UTC' }
  const refusal = await meridian.jobs.create({ name: 'never', target, schedule }).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(MeridianProblem)
  expect(refusal).toMatchObject({ status: 422, code: 'validation-failed' })
  const { errors } = refusal as MeridianProblem
  expect(errors?.map(({ pointer }) => pointer)).toEqual(['/schedule/cron'])
})
