import type { Certificate } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { countsOf, keyIdOf, tzVersionsOf, verdictOf } from './verdict.ts'

const digest = '0'.repeat(64)
const whole: Certificate = {
  jobId: 'job_1',
  projectId: 'prj_1',
  tenantId: 'ten_1',
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-12-01T00:00:00.000Z',
  issuedAt: '2026-12-01T00:00:00.000Z',
  tzVersion: '2026b',
  spans: [],
  expected: { count: 30, digest },
  ledger: { rows: 30, count: 30, digest },
  outcomes: { pending: 0, run: 28, skipped: 2, missed: 0 },
  undecided: 0,
  atSeams: 0,
  unchecked: 0,
  mismatchCount: 0,
  mismatches: [],
  isComplete: true,
}

describe('verdictOf', () => {
  it('says that all is there, and how much that is', () => {
    expect(verdictOf(whole)).toMatchObject({ meaning: 'succeeded', text: expect.stringContaining('30 instants') })
  })

  it('calls a mismatch an incident, whatever else', () => {
    const { meaning, title } = verdictOf({ ...whole, mismatchCount: 1, isComplete: false, unchecked: 4 })
    expect([meaning, title]).toEqual(['failed', '1 instant is not told as the schedule has them'])
  })

  it('does not claim what was not computed', () => {
    expect(verdictOf({ ...whole, isComplete: false, unchecked: 4 }).meaning).toBe('waiting')
    expect(verdictOf({ ...whole, expected: { count: 0, digest } }).meaning).toBe('quiet')
  })
})

it('counts what people ask for always, and the rest where there is any', () => {
  expect(countsOf(whole).map(({ label }) => label)).toEqual(['Ran', 'Skipped', 'Missed'])
  expect(countsOf({ ...whole, undecided: 2 }).at(-1)).toMatchObject({ label: 'Undecided', count: 2 })
})

it('reads the key off the signature', () => {
  const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: 'k-_>?1' })).toString('base64url')
  expect(keyIdOf(`${header}.e30.c2ln`)).toBe('k-_>?1')
})

it('names each version of the time zone data once', () => {
  const span = { from: whole.from, until: null, jobVersion: 1, isPaused: false, schedule: null, isRecomputed: true }
  const spans = ['2026a', '2026b', '2026b'].map((tzVersion) => ({ ...span, tzVersion }))
  expect(tzVersionsOf({ ...whole, spans })).toEqual(['2026a', '2026b'])
})
