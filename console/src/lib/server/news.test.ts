import { describe, expect, it } from 'vitest'
import { summariseEvents } from './news.ts'

const stream = (...chunks: string[]) =>
  new ReadableStream<Uint8Array<ArrayBuffer>>({
    async start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      await new Promise((resolve) => setTimeout(resolve, 700))
      controller.close()
    },
  })

const read = async (source: ReadableStream<Uint8Array<ArrayBuffer>>) =>
  (await new Response(summariseEvents(source)).text()).split('\n').filter((line) => line.startsWith('data:'))

describe('summariseEvents', () => {
  it('tells a burst in one message, also when an event is cut in two', async () => {
    const burst = Array.from({ length: 500 }, (_, index) => `id: ${index}\nevent: run.created\ndata: {}\n\n`).join('')
    const heard = await read(stream(burst, 'event: run.suc', 'ceeded\ndata: {"a":1}\n\nevent: job.paused\ndata: {}\n\n'))
    expect(heard).toEqual(['data: {"created":500,"changed":2}'])
  })

  it('says nothing about what concerns no list', async () => {
    expect(await read(stream('event: stream.ready\ndata: {}\n\n', 'event: key.created\ndata: {}\n\n'))).toEqual([])
  })

  it('lets go of the source when the browser leaves', async () => {
    let cancelled = false
    const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
      cancel() {
        cancelled = true
      },
    })
    await summariseEvents(source).cancel()
    expect(cancelled).toBe(true)
  })
})
