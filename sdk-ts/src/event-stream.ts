import type { Event } from './generated/types.gen.ts'
import { errorOf, MeridianProblem } from './problem.ts'
import { pause } from './transport.ts'

/** The stream is followed from here on: what a page showed before may be older, what comes now is told. */
export interface StreamReady {
  type: 'stream.ready'
  /** Where the stream begins. */
  id: string
}

/** The reader was away too long to be told everything: reload what you show, then go on. */
export interface StreamReset {
  type: 'stream.reset'
  /** Where the stream goes on. */
  id: string
}

export type StreamedEvent = Event | StreamReady | StreamReset

export interface EventStreamOptions {
  /** Go on behind this event. From now on, when absent. */
  lastEventId?: string | undefined
  signal?: AbortSignal | undefined
}

export interface EventSource {
  url: string
  headers: Record<string, string>
  fetch: typeof fetch
}

const retryFirstMs = 500
const retryMaxMs = 10_000
/** The API says something every 15 seconds; after three times nothing the connection is dead. */
const silenceMaxMs = 45_000

/**
 * The project's events, one after the other, each once; `stream.ready` comes first. Connections end now and then; the
 * stream comes back by itself where it was. Ends when `signal` aborts; throws a `MeridianProblem` that trying again would not change.
 */
export async function* streamEvents(
  source: EventSource,
  options: EventStreamOptions,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const { signal } = options
  let lastEventId = options.lastEventId
  let failures = 0
  let isReady = false
  while (!signal?.aborted) {
    const silence = new AbortController()
    try {
      const body = await connect(source, lastEventId, AbortSignal.any([silence.signal, ...(signal ? [signal] : [])]))
      for await (const message of readMessages(body, silence)) {
        failures = 0
        lastEventId = message.id ?? lastEventId
        if (message.event === 'stream.reset') yield { type: 'stream.reset', id: lastEventId ?? '' }
        else if (message.event !== 'stream.ready') yield JSON.parse(message.data) as Event
        else if (!isReady) yield { type: 'stream.ready', id: lastEventId ?? '' }
        isReady = true
      }
    } catch (error) {
      if (signal?.aborted) return
      if (error instanceof MeridianProblem && error.status < 500 && error.status !== 429) throw error
      failures += 1
    } finally {
      silence.abort()
    }
    if (signal?.aborted) return
    const waitMs =
      failures === 0 ? 0 : Math.min(retryMaxMs, retryFirstMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
    await pause(waitMs, signal).catch(() => undefined)
  }
}

async function connect(
  source: EventSource,
  lastEventId: string | undefined,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const response = await source.fetch(source.url, {
    headers: {
      ...source.headers,
      accept: 'text/event-stream',
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
    signal,
  })
  if (!response.ok || response.body === null) throw await errorOf(response)
  return response.body
}

interface Message {
  id: string | undefined
  event: string
  data: string
}

/** Parses a stream as the HTML standard says (9.2.6). */
async function* readMessages(
  body: ReadableStream<Uint8Array>,
  silence: AbortController,
): AsyncGenerator<Message, void, undefined> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let buffer = ''
  try {
    for (;;) {
      const timer = setTimeout(() => silence.abort(new Error('the event stream fell silent')), silenceMaxMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      buffer += decoder.decode(value, { stream: true })
      const blocks = buffer.split(/\r?\n\r?\n/)
      buffer = blocks.pop() ?? ''
      for (const block of blocks) {
        const message = parseMessage(block)
        if (message !== null) yield message
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function parseMessage(block: string): Message | null {
  const message: Message = { id: undefined, event: 'message', data: '' }
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'id') message.id = value
    else if (field === 'event') message.event = value
    else if (field === 'data') data.push(value)
  }
  if (data.length === 0) return null
  return { ...message, data: data.join('\n') }
}
