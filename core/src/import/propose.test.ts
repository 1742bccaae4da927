import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jobDefinitionValue } from '../job/job.ts'
import { parseCron } from '../schedule/cron.ts'
import { compileSchedule } from '../schedule/occurrences.ts'
import { parseSchedule } from '../schedule/schedule.ts'
import { type ImportFormat, importFormats } from './entry.ts'
import { type Proposal, type ProposeOptions, propose } from './propose.ts'
import { readSource } from './read.ts'
import { cronSystems, referenceInstants } from './reference.ts'
import {
  bullmqSchedulers,
  cloudFormation,
  cloudSchedulerJobs,
  cronJobs,
  serverCrontab,
  systemCrontab,
  temporalSchedules,
  workflow,
} from './samples.ts'
import { targetTemplateValue } from './target-template.ts'

const after = Temporal.Instant.from('2026-03-01T00:00:00Z')
const template = targetTemplateValue.parse({
  url: 'https://runner.example.com/run/{{name}}',
  headers: { 'X-User': '{{user}}' },
})

function proposals(format: ImportFormat, text: string, changes: Partial<ProposeOptions> = {}): Proposal[] {
  const { entries } = readSource(format, text, { timezone: 'Europe/Berlin' })
  const options: ProposeOptions = {
    format,
    prefix: 'web-1:',
    template,
    queue: undefined,
    tags: ['imported'],
    after,
    compareMax: 400,
    allowPrivate: false,
    ...changes,
  }
  return entries.map((entry) => propose(entry, options))
}

const samples: [ImportFormat, string][] = [
  ['crontab', serverCrontab],
  ['system-crontab', systemCrontab],
  ['kubernetes', cronJobs],
  ['eventbridge', cloudFormation],
  ['cloud-scheduler', cloudSchedulerJobs],
  ['github-actions', workflow],
  ['bullmq', bullmqSchedulers],
  ['temporal', temporalSchedules],
]

test.each(samples)('every entry of %s becomes a job that is valid and fires, or names a problem', (format, text) => {
  for (const { status, job, problems, ours } of proposals(format, text)) {
    if (status === 'ready') {
      expect(jobDefinitionValue.safeParse(job).success).toBe(true)
      expect(ours.length).toBeGreaterThan(0)
      expect(problems).toEqual([])
    } else expect(problems.length).toBeGreaterThan(0)
  }
})

describe('a crontab of thirty lines', () => {
  const all = proposals('crontab', serverCrontab)
  const at = (line: number): Proposal => all.find((each) => each.line === line) as Proposal

  test('refuses what never fires, at its line', () => {
    expect(
      all.filter(({ status }) => status === 'refused').map(({ line, problems }) => [line, problems[0]?.pointer]),
    ).toEqual([
      [16, ''],
      [27, '/schedule/cron'],
      [28, '/schedule/cron'],
      [30, ''],
    ])
  })

  test('says in words what each line is, and when it runs on both sides', () => {
    expect(at(22).words).toBe('At 08:00 on Monday to Friday, Europe/London')
    expect(at(22).ours.map(({ local }) => local)).toEqual([
      '2026-03-02T08:00:00',
      '2026-03-03T08:00:00',
      '2026-03-04T08:00:00',
      '2026-03-05T08:00:00',
      '2026-03-06T08:00:00',
    ]) // prettier-ignore
    for (const { theirs, ours, status } of all)
      if (status === 'ready') expect(theirs?.map(({ at }) => at)).toEqual(ours.map(({ at }) => at))
    expect(at(7).comparedCount).toBe(400)
  })

  test('tells of two day fields, whether they mean either or both', () => {
    expect(at(17).differences.find(({ code }) => code === 'days')?.detail).toMatch(/match either/)
    expect(at(18).differences.find(({ code }) => code === 'days')?.detail).toMatch(/match both/)
  })

  test('sends the command in the body, the name in the URL', () => {
    expect(at(12).job?.target).toMatchObject({
      url: 'https://runner.example.com/run/send%20--batch%20100',
      method: 'POST',
      body: {
        command: 'flock -n /tmp/mailer.lock /opt/mailer/bin/send --batch 100',
        environment: { SHELL: '/bin/bash' },
      },
    })
  })

  test('without a template wants one for commands, and for nothing else', () => {
    const bare = proposals('crontab', serverCrontab, { template: null })
    expect(bare.filter(({ status }) => status === 'ready').map(({ line }) => line)).toEqual([13, 14])
    expect(bare.filter(({ status }) => status === 'needs-target').every(({ job }) => job === null)).toBe(true)
  })
})

test('a template that makes no valid request is a problem of the entry', () => {
  const broken = targetTemplateValue.parse({ url: '{{command}}' })
  expect(proposals('crontab', '* * * * * /bin/x', { template: broken })[0]).toMatchObject({
    status: 'refused',
    problems: [{ pointer: '/target/url' }],
  })
})

test('a template that leads to a private address is refused where that is not allowed', () => {
  const inside = targetTemplateValue.parse({ url: 'http://10.0.0.7/run' })
  const [refused] = proposals('crontab', '* * * * * /bin/x', { template: inside })
  expect(refused).toMatchObject({ status: 'refused', problems: [{ pointer: '/target/url' }] })
  expect(proposals('crontab', '* * * * * /bin/x', { template: inside, allowPrivate: true })[0]?.status).toBe('ready')
})

test('the name of a command tells no secret', () => {
  const lines = [
    'mysqldump -u root -phunter2 shop',
    'deploy --token=hunter2',
    'deploy --password hunter2',
    'psql postgres://u:hunter2@db/x',
    'run.sh https://a.example/?k=hunter2 --all',
  ]
  for (const line of lines) expect(proposals('crontab', `1 1 * * * ${line}`)[0]?.name).not.toContain('hunter2')
})

test('an inline zone of Kubernetes is refused with the advice to use timeZone (O-30)', () => {
  const [plain, , inline] = proposals('kubernetes', cronJobs)
  expect(plain).toMatchObject({ status: 'ready', job: { schedule: { timezone: 'UTC' } } })
  expect(inline?.problems).toMatchObject([{ pointer: '/schedule/cron', detail: expect.stringContaining('timeZone') }])
})

test('clock changes of the other system are kept: none at 02:30 on the day without it, two at 01:30', () => {
  const nightly = proposals('kubernetes', cronJobs, { after: Temporal.Instant.from('2026-10-31T12:00:00Z') })[1]
  expect(nightly?.ours.slice(0, 2).map(({ at }) => at)).toEqual([
    '2026-11-01T05:30:00.000Z',
    '2026-11-01T06:30:00.000Z',
  ])
  const aws = proposals('eventbridge', cloudFormation.replace('MON-FRI', 'SUN'), {
    after: Temporal.Instant.from('2026-03-28T12:00:00Z'),
  })[0]
  expect(aws?.ours[0]?.local).toBe('2026-04-05T02:30:00')
  expect(aws?.comparedCount).toBeGreaterThan(50)
})

const number = (min: number, max: number) => fc.integer({ min, max })
const item = (min: number, max: number) =>
  fc.oneof(
    { weight: 3, arbitrary: number(min, max).map(String) },
    fc.tuple(number(min, max), number(min, max)).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc
      .tuple(number(min, max), number(min, max), number(2, 9))
      .map(([a, b, by]) => `${Math.min(a, b)}-${Math.max(a, b)}/${by}`),
    number(2, 9).map((by) => `*/${by}`),
  )
const field = (min: number, max: number) =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant('*') },
    { weight: 3, arbitrary: fc.array(item(min, max), { minLength: 1, maxLength: 3 }).map((items) => items.join(',')) },
  )
const expression = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6))
  .map((fields) => fields.join(' '))
const zones = [
  'UTC',
  'Europe/London',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Sao_Paulo',
  'Asia/Kathmandu',
  'Africa/Casablanca',
  'Pacific/Apia',
]
const starts = [
  '2026-03-07T00:00:00Z',
  '2026-03-28T00:00:00Z',
  '2026-10-03T12:00:00Z',
  '2026-10-30T00:00:00Z',
  '2026-06-15T10:00:00Z',
]

/** What the schedule of an entry is, by way of the reader of its format. */
function entryOf(format: ImportFormat, cron: string, timezone: string): string {
  if (format === 'kubernetes')
    return JSON.stringify({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'a' },
      spec: {
        schedule: cron,
        timeZone: timezone,
        jobTemplate: { spec: { template: { spec: { containers: [{ image: 'a' }] } } } },
      },
    })
  if (format === 'bullmq') return JSON.stringify([{ key: 'a', name: 'a', pattern: cron, tz: timezone }])
  if (format === 'temporal')
    return JSON.stringify({
      scheduleId: 'a',
      schedule: { spec: { cronString: [cron], timezoneName: timezone }, action: {} },
    })
  return `CRON_TZ=${timezone}\n${cron} /bin/x`
}

test.each(['crontab', 'kubernetes', 'bullmq', 'temporal'] as const)(
  'the job of %s fires when its own system would, through clock changes: a second reckoning agrees',
  (format) => {
    fc.assert(
      fc.property(expression, fc.constantFrom(...zones), fc.constantFrom(...starts), (cron, timezone, start) => {
        const [entry] = readSource(format, entryOf(format, cron, timezone), { timezone: 'UTC' }).entries
        const parsed = parseSchedule(entry?.schedule)
        if (!parsed.ok) return
        const from = Temporal.Instant.from(start)
        const theirs = referenceInstants(cron, cronSystems[format], {
          timezone,
          afterMs: from.epochMilliseconds,
          count: 60,
        })
        const schedule =
          parsed.schedule.type === 'rrule' ? { ...parsed.schedule, dtstart: '2026-01-01T00:00:00' } : parsed.schedule
        const compiled = compileSchedule(schedule)
        const ours: number[] = []
        for (let hit = compiled.next(from.epochMilliseconds); hit && ours.length < 60; hit = compiled.next(hit.at))
          ours.push(hit.at)
        // The second reckoning looks forty years ahead, and a leap day comes ten times in them.
        expect(ours.slice(0, theirs?.length)).toEqual(theirs)
      }),
      { numRuns: 250 },
    )
  },
)

test('what is refused as a crontab entry is what the engine refuses, so nothing is accepted that never fires', () => {
  fc.assert(
    fc.property(fc.oneof(expression, fc.string({ maxLength: 20 })), (cron) => {
      const isOneLine = !/[\r\n#=%]|^\s*[-@]/.test(cron) && cron.trim().split(/\s+/).length === 5
      if (!isOneLine) return
      const [proposal] = proposals('crontab', `${cron} /bin/x`)
      if (proposal?.status === 'ready') expect(proposal.ours.length).toBeGreaterThan(0)
      else expect(parseCron(cron).ok).toBe(false)
    }),
    { numRuns: 200 },
  )
})

test('every format names its system', () => expect(Object.keys(cronSystems).sort()).toEqual([...importFormats].sort()))
