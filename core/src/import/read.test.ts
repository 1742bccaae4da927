import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { importFormats, type SourceEntry } from './entry.ts'
import { detectFormat, readSource } from './read.ts'
import {
  bullmqSchedulers,
  cloudFormation,
  cloudSchedulerJobs,
  cronJobs,
  schedulerCli,
  serverCrontab,
  systemCrontab,
  temporalSchedules,
  workflow,
} from './samples.ts'

const options = { timezone: 'Europe/Berlin' }
const codes = ({ differences }: SourceEntry): string[] =>
  differences.map(({ code, isChange }) => (isChange ? `${code}!` : code))

describe('the format of a text is told from what it holds', () => {
  test.each([
    ['crontab', serverCrontab],
    ['system-crontab', systemCrontab],
    ['kubernetes', cronJobs],
    ['eventbridge', cloudFormation],
    ['eventbridge', schedulerCli],
    ['cloud-scheduler', cloudSchedulerJobs],
    ['github-actions', workflow],
    ['bullmq', bullmqSchedulers],
    ['temporal', temporalSchedules],
    ['crontab', '* * * * * true'],
    ['crontab', ''],
    ['crontab', '@daily backup now'],
  ] as const)('%s', (format, text) => expect(detectFormat(text)).toBe(format))

  test('a file of cron.d has users whoever they are', () => {
    expect(detectFormat('5 4 * * * jo /bin/x', '/etc/cron.d/jo')).toBe('system-crontab')
  })
})

describe('a crontab', () => {
  const source = readSource('crontab', serverCrontab, options)
  const at = (line: number): SourceEntry => source.entries.find((entry) => entry.line === line) as SourceEntry

  test('gives each of its lines exactly once: an entry, a note, or a comment', () => {
    expect(source.entries.map(({ line }) => line)).toEqual([
      7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 25, 26, 27, 28, 29, 30,
    ])
    expect(source.notes.map(({ line }) => line)).toEqual([2, 3, 4, 19, 20, 24])
    expect(source.problems).toEqual([])
  })

  test('keeps the comment above a line as its description, and no other', () => {
    expect(at(7)).toMatchObject({
      name: 'logrotate /etc/logrotate.d/app.conf',
      description: 'Rotate and compress the application logs',
    })
    expect(at(9).description).toBe('Nightly database dump, kept for 14 days')
    expect(at(10).description).toBeNull()
  })

  test('names a command by what it does', () => {
    expect([9, 11, 12, 18].map((line) => at(line).name)).toEqual([
      'pg_dump -Fc shop',
      'php artisan schedule:run',
      'send --batch 100',
      'reindex',
    ])
  })

  test('takes an escaped percent for a percent, and a bare one for standard input', () => {
    expect(at(9).action).toMatchObject({
      command: 'pg_dump -Fc shop | gzip > /backup/shop-$(date +%F).dump.gz',
      input: null,
    })
    expect(at(23).action).toMatchObject({ command: '/usr/local/bin/weekly', input: 'first line\nsecond line\n' })
  })

  test('turns curl and wget into the call that they make, and names it by where it goes', () => {
    expect(at(14).name).toBe('shop.example.com/cron.php')
    expect(at(13)).toMatchObject({
      action: {
        kind: 'http',
        target: { method: 'GET', url: 'https://shop.example.com/cron/hourly', timeout: 'PT10S' },
      },
      retry: { limit: 5 },
    })
    expect(at(14).action).toMatchObject({
      kind: 'http',
      target: { method: 'GET', url: 'https://shop.example.com/cron.php?key=abc' },
    })
  })

  test('reads what stands below CRON_TZ in that zone, and what stands above in the zone of the machine', () => {
    expect(at(7).schedule).toEqual({ type: 'cron', cron: '25 6 * * *', timezone: 'Europe/Berlin' })
    expect(at(22).schedule).toEqual({ type: 'cron', cron: '0 8 * * mon-fri', timezone: 'Europe/London' })
    expect(at(25).schedule).toEqual({ type: 'cron', cron: '30 2 * * *', timezone: 'America/New_York' })
  })

  test('carries the environment with the command, and says that nobody is mailed', () => {
    expect(at(7).action).toMatchObject({ environment: { SHELL: '/bin/bash' } })
    expect(codes(at(7))).toContain('mail!')
  })

  test('refuses what has no time', () => {
    expect(at(16).problems[0]).toMatch(/@reboot/)
    expect(at(30).problems[0]).toMatch(/no command/)
  })

  test('keeps the key of a line when the lines around it change, and when its time does', () => {
    const moved = readSource('crontab', serverCrontab.replace('25 6 * * *', '\n\n0 7 * * *'), options)
    expect(moved.entries[0]?.key).toBe(at(7).key)
    expect(moved.entries.map(({ key }) => key)).toEqual(source.entries.map(({ key }) => key))
    const twice = readSource('crontab', '1 1 * * * /bin/x\n2 2 * * * /bin/x', options)
    expect(new Set(twice.entries.map(({ key }) => key)).size).toBe(2)
  })

  test('of the system has a user in each line', () => {
    const { entries } = readSource('system-crontab', systemCrontab, options)
    expect(entries.map(({ action }) => action)).toMatchObject([
      { user: 'root', command: 'cd / && run-parts --report /etc/cron.hourly' },
      { user: 'root' },
      { user: 'root', command: 'test -x /usr/lib/atrun && /usr/lib/atrun' },
    ])
    expect(entries.map(({ name }) => name)).toContain('run-parts --report /etc/cron.hourly')
  })

  test('says that a machine which calls itself is another from here', () => {
    const { entries } = readSource(
      'crontab',
      '@daily curl http://localhost:8080/a\n@daily curl https://example.com/a',
      options,
    )
    expect(
      entries.map(({ differences }) => differences.some(({ detail }) => detail.startsWith('`localhost`'))),
    ).toEqual([true, false])
  })

  test('leaves the rules out that are drawn around a heading', () => {
    const text = '# --- Backups ------\n# Nightly - keep 14\n0 1 * * * a\n\n#=========\n# Shop #\n0 2 * * * b'
    const { entries } = readSource('crontab', text, options)
    expect(entries.map(({ description }) => description)).toEqual(['Backups\nNightly - keep 14', 'Shop #'])
  })

  test('with a zone that there is none of says so at its line', () => {
    const text = '0 1 * * * a\nCRON_TZ=Mars/Olympus\n0 1 * * * b\nCRON_TZ=Europe/Paris\n0 1 * * * c'
    const { problems, entries } = readSource('crontab', text, options)
    expect(problems).toEqual([{ line: 2, detail: '`Mars/Olympus` is not a time zone of the IANA database' }])
    expect(entries.map((entry) => [entry.schedule !== null, entry.problems])).toEqual([
      [true, []],
      [false, [expect.stringMatching(/^Line 2 sets the time zone `Mars\/Olympus`/)]],
      [true, []],
    ])
  })
})

describe('manifests of Kubernetes', () => {
  const { entries, notes } = readSource('kubernetes', cronJobs, options)

  test('are read in UTC unless they say otherwise, and clock changes stay as they are there', () => {
    expect(entries.map(({ line, key, schedule }) => ({ line, key, schedule }))).toEqual([
      {
        line: 6,
        key: 'default/hello',
        schedule: { type: 'cron', cron: '* * * * *', dialect: 'kubernetes', timezone: 'UTC' },
      },
      {
        line: 22,
        key: 'billing/report',
        schedule: {
          type: 'cron',
          cron: '30 1 * * *',
          dialect: 'kubernetes',
          timezone: 'America/New_York',
          gap: 'skip',
          fold: 'both',
        },
      },
      {
        line: 39,
        key: 'default/inline-zone',
        schedule: expect.objectContaining({ cron: 'CRON_TZ=Asia/Tokyo 0 9 * * *' }),
      },
    ])
    expect(notes).toMatchObject([{ detail: 'A Service: nothing to import.' }])
  })

  test('keep their concurrency policy, tries and deadline', () => {
    expect(entries[1]).toMatchObject({
      overlap: 'skip',
      rules: { catchUp: 'all', catchUpMax: 1, catchUpWindow: 'PT1M40S' },
      isPaused: true,
      retry: { limit: 2, delay: 'PT10S' },
      timeoutMs: 600_000,
    })
    expect(entries[0]?.overlap).toBe('allow')
    expect(entries.map(codes)).toEqual(
      [['zone', 'retry'].toSorted(), ['retry'], ['zone', 'retry', 'overlap'].toSorted()].map((each) =>
        expect.toSatisfy((got: string[]) => got.toSorted().join() === each.join()),
      ),
    )
    expect(entries[1]?.action).toMatchObject({ command: 'registry/report:3 --daily', environment: { MODE: 'full' } })
  })
})

test('EventBridge keeps expression, zone, group and input', () => {
  const { entries, notes } = readSource('eventbridge', cloudFormation, options)
  expect(entries).toMatchObject([
    {
      key: 'billing/nightly',
      description: 'Closes the books',
      isPaused: true,
      retry: { limit: 3 },
      schedule: {
        cron: 'cron(30 2 ? * MON-FRI *)',
        dialect: 'eventbridge',
        timezone: 'Europe/Berlin',
        gap: 'skip',
        window: 'PT15M',
      },
      action: { command: '{"Fn::GetAtt":["Books","Arn"]}', input: { mode: 'close' } },
    },
    { key: 'default/Warm', schedule: { cron: 'rate(5 minutes)', timezone: 'UTC' } },
  ])
  expect(entries.map(codes)).toEqual([expect.arrayContaining(['spread']), expect.arrayContaining(['phase!'])])
  expect(notes).toHaveLength(1)
  const [once] = readSource('eventbridge', schedulerCli, options).entries
  expect(once).toMatchObject({
    key: 'default/once',
    schedule: { cron: 'at(2027-07-01T09:00:00)', timezone: 'Europe/London' },
    action: { input: 'hello' },
  })
  expect(
    readSource('eventbridge', '{"Schedules":[{"Name":"x","Arn":"arn:aws:scheduler:eu:1:schedule/default/x"}]}', options)
      .problems,
  ).toMatchObject([{ detail: expect.stringContaining('get-schedule') }])
})

test('Cloud Scheduler keeps its call, tries and deadline, and says what a token was', () => {
  const { entries } = readSource('cloud-scheduler', cloudSchedulerJobs, options)
  expect(entries).toMatchObject([
    {
      name: 'refresh',
      timeoutMs: 180_000,
      retry: { limit: 3, delay: 'PT5S', maxDelay: 'PT1H' },
      schedule: { cron: '0 */6 1 * MON', timezone: 'Europe/Paris' },
      action: {
        kind: 'http',
        target: {
          method: 'POST',
          url: 'https://shop.example.com/refresh',
          headers: { 'Content-Type': 'application/json' },
          body: '{"full":true}',
        },
      },
    },
    {
      schedule: { type: 'every', every: 'PT15M' },
      isPaused: true,
      action: { command: 'projects/p/topics/t', input: 'hi' },
    },
    { schedule: { cron: '30 9 * * 1,4' }, action: { command: 'GET /tasks/weekly' } },
    { schedule: null, problems: [expect.stringContaining('App Engine')] },
  ])
  expect(codes(entries[0] as SourceEntry)).toContain('authorization!')
})

test('a workflow has one entry for each of its crons', () => {
  const { entries } = readSource('github-actions', workflow, { ...options, fileName: '.github/workflows/nightly.yml' })
  expect(entries).toMatchObject([
    { line: 6, key: 'nightly.yml#1', schedule: { cron: '30 5 * * 1,3', timezone: 'UTC' }, overlap: 'cancel-running' },
    { line: 7, key: 'nightly.yml#2', schedule: { cron: '17 4 * * *', timezone: 'America/New_York' } },
  ])
  expect(codes(entries[0] as SourceEntry)).toEqual(['delay!', 'zone'])
})

test('BullMQ keeps its phase, its data and how it reads two day fields', () => {
  const { entries } = readSource('bullmq', bullmqSchedulers, options)
  expect(entries).toMatchObject([
    {
      key: 'daily-report',
      schedule: { cron: '0 15 3 * * *', timezone: 'Europe/Madrid' },
      retry: { limit: 4 },
      action: { command: 'report', input: { kind: 'daily' } },
    },
    { key: 'poll', schedule: { type: 'every', every: 'PT10S', anchor: '2026-11-30T00:53:22.500Z', maxRuns: 100 } },
    { schedule: { cron: '0 9 1-31/2 * 1', timezone: 'Europe/Berlin' } },
    { problems: [expect.stringContaining('shortest')] },
  ])
})

test('Temporal reads both day fields as "and", and clock times literally', () => {
  const { entries } = readSource('temporal', temporalSchedules, options)
  const literal = { timezone: 'Europe/London', gap: 'skip', fold: 'both' }
  expect(entries).toMatchObject([
    {
      key: 'first-monday#1',
      description: 'the books',
      isPaused: true,
      overlap: 'queue-one',
      rules: { catchUp: 'all', catchUpWindow: 'PT8760H' },
      schedule: {
        type: 'rrule',
        rrule: 'FREQ=DAILY;BYMONTHDAY=1,2,3,4,5,6,7;BYDAY=MO;BYHOUR=9;BYMINUTE=30;BYSECOND=0',
        ...literal,
      },
      action: { command: 'CloseBooks', input: [{ a: 1 }] },
    },
    { key: 'first-monday#2', schedule: { type: 'cron', cron: '*/15 * * * *', timezone: 'Europe/London' } },
    { key: 'first-monday#3', schedule: { type: 'every', every: 'PT1H', anchor: '1970-01-01T00:19:00.000Z' } },
    { key: 'cron#1', schedule: { type: 'rrule', timezone: 'Asia/Tokyo' } },
    { key: 'cron#2', schedule: { type: 'every', every: 'PT2H', anchor: '1970-01-01T00:05:00.000Z' } },
    {
      key: 'cron#3',
      schedule: { type: 'cron', cron: '0 0 1 1 *', startAt: '2027-01-01T00:00:00', endAt: '2027-12-31T23:59:59' },
    },
    { key: 'excluding', problems: [expect.stringContaining('calendar')] },
  ])
  expect(codes(entries[0] as SourceEntry)).toEqual(expect.arrayContaining(['days', 'command!']))
})

const nasty = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc
    .constantFrom(
      serverCrontab,
      cronJobs,
      cloudFormation,
      cloudSchedulerJobs,
      workflow,
      bullmqSchedulers,
      temporalSchedules,
    )
    .chain((text) =>
      fc
        .tuple(fc.nat(text.length), fc.nat(40), fc.string({ maxLength: 5 }))
        .map(([at, length, put]) => text.slice(0, at) + put + text.slice(at + length)),
    ),
  fc.json({ maxDepth: 4 }),
)

test('whatever the text, reading it never throws, and whatever it finds has a line of the text', () => {
  fc.assert(
    fc.property(fc.constantFrom(...importFormats), nasty, (format, text) => {
      const { entries, notes, problems } = readSource(format, text, options)
      const lines = text.split('\n').length
      for (const { line } of [...entries, ...notes, ...problems]) {
        expect(line).toBeGreaterThanOrEqual(1)
        expect(line).toBeLessThanOrEqual(lines)
      }
      expect(importFormats).toContain(detectFormat(text))
    }),
    { numRuns: 400 },
  )
})
