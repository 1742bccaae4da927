import type { LiveNews } from '#lib/live.svelte.ts'

const restMilliseconds = 500
const keepAliveMilliseconds = 20_000
const created = new Set(['run.created', 'runs.created'])
const telling = /^(runs?|job|occurrence|queue)\./

/**
 * Sums up a stream of the API's events into at most two short messages a second, so that a project with thousands
 * of runs a second costs a browser no more than a quiet one. Ends when the source ends; the browser comes back.
 */
export function summariseEvents(source: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let news: LiveNews = { created: 0, changed: 0 }
  let timers: ReturnType<typeof setInterval>[] = []
  const stop = () => {
    for (const timer of timers) clearInterval(timer)
    timers = []
  }
  const reader = source.pipeThrough(new TextDecoderStream()).getReader()

  return new ReadableStream({
    start(controller) {
      const tell = (text: string) => controller.enqueue(encoder.encode(text))
      tell('retry: 2000\n\n')
      timers = [
        setInterval(() => {
          if (news.created + news.changed === 0) return
          tell(`event: news\ndata: ${JSON.stringify(news)}\n\n`)
          news = { created: 0, changed: 0 }
        }, restMilliseconds),
        setInterval(() => tell(': still here\n\n'), keepAliveMilliseconds),
      ]
      void follow(reader, (type) => {
        if (created.has(type)) news.created += 1
        else if (telling.test(type)) news.changed += 1
      }).finally(() => {
        if (timers.length === 0) return
        stop()
        controller.close()
      })
    },
    async cancel() {
      stop()
      await reader.cancel()
    },
  })
}

/** Reads server-sent events and tells the type of each. */
async function follow(reader: ReadableStreamDefaultReader<string>, hear: (type: string) => void): Promise<void> {
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true as const, value: undefined }))
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('event:')) hear(line.slice(6).trim())
  }
}
