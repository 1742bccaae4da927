import type { Alarm, InstallationAlarm } from '@meridian/sdk'
import { expect, test } from 'vitest'
import { tellAlarm, tellInstallationAlarm, tellSilence } from './words.ts'

const since = '2026-11-30T10:00:00Z'
const alarm = (kind: Alarm['kind'], name: string | null = null): Alarm => ({
  ...{ kind, subject: 'job_1', name, since },
  raisedAt: since,
  clearedAt: null,
})
const ofAll = (kind: InstallationAlarm['kind'], name: string) =>
  tellInstallationAlarm({ kind, name, since, raisedAt: since })

test('only a schedule can be repaired, and is named', () => {
  expect(tellAlarm(alarm('schedule-stuck', 'Nightly'), '/a/b')).toMatchObject({
    title: 'The schedule of Nightly stands still',
    href: '/a/b/jobs/job_1',
    repairs: 'job_1',
  })
  expect(tellAlarm(alarm('schedule-astray', 'Nightly'), '/a/b')).toMatchObject({
    title: 'The schedule of Nightly has gone astray',
    repairs: 'job_1',
  })
  for (const kind of ['lease-stuck', 'operation-stuck', 'breaker-stuck'] as const)
    expect(tellAlarm(alarm(kind), '/a/b').repairs).toBeUndefined()
  expect(tellAlarm(alarm('breaker-stuck', 'api.example.com'), '').title).toContain('api.example.com')
})

test('what stands still for everybody says where', () => {
  expect(ofAll('dispatch-stuck', '1').text).toContain('pool 1')
  expect(ofAll('partitions-missing', 'run_logs').title).toContain('run_logs')
})

test('a watchdog that never looked has no since', () => {
  expect(tellSilence(null)).toMatchObject({ title: 'No watchdog has ever looked', since: null })
  expect(tellSilence(since)).toMatchObject({ title: 'The watchdog does not look', since })
})
