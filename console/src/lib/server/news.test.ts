import { describe, expect, it } from 'vitest'
import { summariseEvents } from './news.ts'

const never = new AbortController().signal

async function* events(...types: string[]) {
  for (const type of types) yield { type } as { type: 'run.created' }
  await new Promise((resolve) => setTimeout(resolve, 700))
}

const read = async (...types: string[]) =>
  (await new Response(summariseEvents(() => events(...types), never)).text())
    .split('\n')
    .filter((line) => line.startsWith('data:'))

describe('summariseEvents', () => {
  it('tells a burst in one message', async () => {
    const burst = Array.from({ length: 500 }, () => 'run.created')
    expect(await read(...burst, 'run.succeeded', 'job.paused', 'stream.reset')).toEqual([
      'data: {"created":500,"changed":3}',
    ])
  })

  it('counts the runs of a batch', async () => {
    const batch = async function* () {
      yield { type: 'runs.created' as const, data: { count: 500 } }
      yield* events()
    }
    expect(await new Response(summariseEvents(batch, never)).text()).toContain('"created":500')
  })

  it('tells that it listens, since what happened since the page was loaded is not told', async () => {
    expect(await read('stream.ready')).toEqual(['data: {"created":0,"changed":1}'])
  })

  it('says nothing about what concerns no list', async () => {
    expect(await read('key.created', 'project.updated')).toEqual([])
  })

  it('lets go of the source when the browser leaves', async () => {
    let heard: AbortSignal | undefined
    const follow = async function* (signal: AbortSignal) {
      heard = signal
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      yield* events()
    }
    const reader = summariseEvents(follow, never).getReader()
    await reader.read()
    await reader.cancel()
    expect(heard?.aborted).toBe(true)
  })

  it('ends when the API refuses to go on', async () => {
    const refusing = async function* () {
      yield* events('run.created')
      throw new Error('the session has ended')
    }
    expect(await new Response(summariseEvents(refusing, never)).text()).toContain('"created":1')
  })
})
