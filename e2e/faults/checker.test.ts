import { expect, test } from 'vitest'
import type { ReceivedRequest } from '../receiver.ts'
import { assertSound, type Evidence, examine } from './checker.ts'

const dueAtMs = Date.parse('2026-03-29T01:00:00.000Z')

const request = (run: string, change: Partial<ReceivedRequest> = {}): ReceivedRequest => ({
  label: 'l',
  path: '/l/ok',
  run,
  attempt: 1,
  tries: 1,
  fence: '1',
  nominalAt: undefined,
  dueAt: '2026-03-29T01:00:00.000Z',
  idempotencyKey: undefined,
  receivedAtMs: dueAtMs + 3,
  monotonicMs: 0,
  ...change,
})

const sound = (): Evidence => ({
  accepted: [{ id: 'a', dueAtMs }],
  runs: [{ id: 'a', status: 'succeeded', events: ['run.accepted', 'run.succeeded'] }],
  requests: [request('a')],
})

test('a run that was called once and ended once is sound', () => {
  const findings = examine(sound())
  expect(findings).toMatchObject({ lost: [], duplicates: [], doubleEnds: [], early: [], latenessMs: [3], attempts: 1 })
  expect(() => assertSound(findings)).not.toThrow()
})

test.each([
  ['is gone', { runs: [] }],
  ['is still open', { runs: [{ id: 'a', status: 'running', events: [] }] }],
  ['succeeded without a call', { requests: [] }],
])('an accepted run that %s is lost', (_, change) => {
  const findings = examine({ ...sound(), ...change })
  expect(findings.lost).toEqual(['a'])
  expect(() => assertSound(findings)).toThrow('lost: 1 (a)')
})

test('a run nobody was told of, or listed twice, is a duplicate', () => {
  const [run] = sound().runs
  if (run === undefined) throw new Error('no run')
  expect(examine({ ...sound(), runs: [run, { ...run, id: 'b' }] }).duplicates).toEqual(['b'])
  expect(examine({ ...sound(), runs: [run, run] }).duplicates).toEqual(['a'])
})

test('two ending events are a double end', () => {
  const runs = [{ id: 'a', status: 'failed', events: ['run.succeeded', 'run.failed'] }]
  expect(examine({ ...sound(), runs }).doubleEnds).toEqual(['a'])
})

test('a call before the instant it was told, or before the one asked for, is early', () => {
  expect(examine({ ...sound(), requests: [request('a', { receivedAtMs: dueAtMs - 0.5 })] }).early).toEqual([
    { run: 'a', byMs: 0.5 },
  ])
  const retry = request('a', { attempt: 2, dueAt: '2026-03-29T01:00:00.100Z', receivedAtMs: dueAtMs + 40 })
  expect(examine({ ...sound(), requests: [request('a'), retry] }).early).toEqual([{ run: 'a', byMs: 60 }])
})
