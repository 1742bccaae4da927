import type { Operation } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import {
  aboutWords,
  filterWords,
  isUnderWay,
  operationMeaning,
  operationWords,
  planFacts,
  stateWords,
} from './words.ts'

const operation = (changes: Partial<Operation> = {}): Operation => ({
  id: 'op_1',
  kind: 'jobs.pause',
  plan: { filter: {} },
  state: 'running',
  total: 1_200,
  done: 10,
  unchanged: 2,
  failed: 0,
  rate: null,
  createdBy: 'system',
  undoOf: null,
  undoneBy: null,
  canUndo: false,
  sample: [],
  createdAt: '2026-03-01T00:00:00.000Z',
  updatedAt: '2026-03-01T00:00:00.000Z',
  finishedAt: null,
  ...changes,
})

describe('an operation in words', () => {
  it('says what it does, and what it takes back', () => {
    expect(operationWords(operation())).toBe('Pause 1,200 jobs')
    expect(operationWords(operation({ kind: 'jobs.backfill', total: 1 }))).toBe('Backfill 1 run')
    expect(operationWords(operation({ undoOf: 'op_0', total: 2 }))).toBe('Take back: pause 2 jobs')
  })

  it('says how far it is', () => {
    expect(stateWords(operation())).toBe('12 of 1,200')
    expect(stateWords(operation({ state: 'paused', failed: 1 }))).toBe('Paused at 13 of 1,200, 1 failed')
    expect(stateWords(operation({ state: 'finished', failed: 3 }))).toBe('Done, 3 failed')
    expect(stateWords(operation({ state: 'finished', total: 0 }))).toBe('There was nothing to do')
  })

  it('is failed as soon as a part of it is', () => {
    expect(operationMeaning(operation())).toBe('running')
    expect(operationMeaning(operation({ state: 'finished' }))).toBe('succeeded')
    expect(operationMeaning(operation({ state: 'finished', failed: 1 }))).toBe('failed')
    expect(operationMeaning(operation({ state: 'aborted' }))).toBe('quiet')
    expect(
      ['running', 'paused', 'aborted', 'finished'].map((state) => isUnderWay(operation({ state: state as 'paused' }))),
    ).toEqual([true, true, false, false])
  })

  it('says what a filter is about', () => {
    expect(filterWords({})).toBe('every job of the project')
    expect(filterWords({ state: 'active' })).toBe('active jobs')
    expect(filterWords({ tags: ['red', 'big'], queue: 'slow', search: 'bill' })).toBe(
      'jobs, matching “bill”, tagged red and big, in queue slow',
    )
    expect(filterWords({ ids: ['job_1'] })).toBe('1 job chosen one by one')
  })

  it('says what it is about in one line', () => {
    const plan = { from: '2026-03-01T00:00:00.000Z', to: '2026-04-01T00:00:00.000Z', tag: 'march' }
    expect(aboutWords(operation({ kind: 'jobs.backfill', plan }))).toBe('march: 2026-03-01 to 2026-04-01')
    expect(aboutWords(operation())).toBe('every job of the project')
  })

  it('lists what was asked for', () => {
    const plan = { filter: {}, changes: { queue: 'slow', addTags: ['a', 'b'] } }
    expect(planFacts(operation({ kind: 'jobs.edit', plan, rate: 5 }))).toEqual([
      ['About', 'every job of the project'],
      ['New queue', 'slow'],
      ['Tags added', 'a, b'],
      ['Pace', 'at most 5 jobs a second'],
    ])
  })
})
