import type { StreamedEvent } from '@meridian/sdk'
import type { LiveNews } from '#lib/live.svelte.ts'

const restMilliseconds = 500
const keepAliveMilliseconds = 20_000
const created = new Set(['run.created', 'runs.created'])
// A stream that has just begun is news as well: what happened since the page was loaded is not told.
const telling = /^(runs?|job|occurrence|queue|operation|stream)\./

/** What of an event is listened to. */
type Heard = Pick<StreamedEvent, 'type'> & { data?: Record<string, unknown> | null }

type Follow = (signal: AbortSignal) => AsyncIterable<Heard>

/**
 * Sums up the API's events into at most two short messages a second, so that a project with thousands of runs a
 * second costs a browser no more than a quiet one. Ends when the browser leaves, or the API refuses to go on.
 */
export function summariseEvents(follow: Follow, browser: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const leaving = new AbortController()
  const signal = AbortSignal.any([leaving.signal, browser])
  return new ReadableStream({
    start(controller) {
      let news: LiveNews = { created: 0, changed: 0 }
      const tell = (text: string) => controller.enqueue(encoder.encode(text))
      tell('retry: 2000\n\n')
      const summing = setInterval(() => {
        if (news.created + news.changed === 0) return
        tell(`event: news\ndata: ${JSON.stringify(news)}\n\n`)
        news = { created: 0, changed: 0 }
      }, restMilliseconds)
      const keepingAlive = setInterval(() => tell(': still here\n\n'), keepAliveMilliseconds)
      const hear = ({ type, data }: Heard) => {
        // A batch tells one event for all its runs.
        if (created.has(type)) news.created += typeof data?.count === 'number' ? data.count : 1
        else if (telling.test(type)) news.changed += 1
      }
      void listen(follow(signal), hear).finally(() => {
        clearInterval(summing)
        clearInterval(keepingAlive)
        if (!leaving.signal.aborted) controller.close()
      })
    },
    cancel() {
      leaving.abort()
    },
  })
}

async function listen(events: ReturnType<Follow>, hear: (event: Heard) => void): Promise<void> {
  try {
    for await (const event of events) hear(event)
  } catch {
    // The session has ended, or may no longer read runs: the browser asks again and is told so by the page.
  }
}
