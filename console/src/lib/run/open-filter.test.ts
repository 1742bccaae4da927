import { describe, expect, it } from 'vitest'
import { openRunFilter } from './open-filter.ts'

const of = (query: string) => openRunFilter(new URLSearchParams(query))

describe('which open runs a list is about', () => {
  it('is all of them without a filter, and those that every filter is true of', () => {
    expect(of('last=7d')).toEqual({ filter: {} })
    expect(of('status=ready,running&job=job_1&queue=reports&tag=red,big')).toEqual({
      filter: { status: ['ready', 'running'], jobId: 'job_1', queue: 'reports', tags: ['red', 'big'] },
    })
  })

  it('leaves out what has ended', () => {
    expect(of('status=failed,running')).toEqual({ filter: { status: ['running'] } })
    expect(of('status=failed')).toHaveProperty('why')
  })

  it('is never wider than the list', () => {
    for (const query of ['source=replay', 'callbackOf=run_1', 'batch=run_1', 'operation=op_1'])
      expect(of(query)).toHaveProperty('why')
  })
})
