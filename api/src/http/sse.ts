import type { IncomingMessage, ServerResponse } from 'node:http'

export interface SseOptions {
  heartbeatMs: number
  /** After this the stream ends by itself and its reader resumes: what a dead connection can cost is bounded. */
  ageMaxMs: number
  /** How long written bytes may wait for the reader. */
  writeTimeoutMs: number
  /** Called before each heartbeat; the stream ends when it throws or rejects. */
  check?(): unknown
}

export interface SseMessage {
  id?: string
  event?: string
  data: string
}

/** A server-sent event stream on one response (WHATWG HTML, 9.2). */
export interface SseStream {
  send(messages: readonly SseMessage[]): void
  /** False once the reader is so far behind that it had better come back later. */
  readonly isKeepingUp: boolean
  /** Resolves when the reader has taken what was written, or is gone. */
  drained(): Promise<void>
  end(): void
  /** Resolves once the connection is gone, however it went. */
  readonly closed: Promise<void>
}

const backlogBytesMax = 1024 * 1024

/**
 * Writes to the socket directly: an abort signal does not fire for a peer that vanished, and a web stream hides
 * whether anybody reads. A peer that takes nothing for `writeTimeoutMs` is cut off; one that silently disappears is
 * let go at the latest with `ageMaxMs`.
 */
export function openSse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  headers: Record<string, string>,
  options: SseOptions,
): SseStream {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  let writeTimer: NodeJS.Timeout | undefined
  let isOver = false

  outgoing.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    // The connection ends with the stream: a dead peer must not stay on as an idle one.
    connection: 'close',
  })
  incoming.socket.setNoDelay(true)

  const write = (text: string): void => {
    if (isOver || outgoing.write(text) || writeTimer !== undefined) return
    writeTimer = setTimeout(() => outgoing.destroy(), options.writeTimeoutMs)
    outgoing.once('drain', () => {
      clearTimeout(writeTimer)
      writeTimer = undefined
    })
  }
  const end = (): void => {
    if (isOver) return
    isOver = true
    outgoing.end()
    setTimeout(() => outgoing.destroy(), options.writeTimeoutMs).unref()
  }
  const beat = async (): Promise<void> => {
    try {
      await options.check?.()
      write(': still here\n\n')
    } catch {
      end()
    }
  }
  const heartbeat = setInterval(() => void beat(), options.heartbeatMs)
  const age = setTimeout(end, options.ageMaxMs)
  const stop = (): void => {
    isOver = true
    clearInterval(heartbeat)
    clearTimeout(age)
    clearTimeout(writeTimer)
    resolve()
  }
  outgoing.once('close', stop)
  if (outgoing.destroyed) stop()

  return {
    send: (messages) => write(messages.map(format).join('')),
    get isKeepingUp() {
      return !isOver && outgoing.writableLength < backlogBytesMax
    },
    drained: () =>
      writeTimer === undefined || isOver
        ? Promise.resolve()
        : Promise.race([closed, new Promise<void>((done) => outgoing.once('drain', done))]),
    end,
    closed,
  }
}

// JSON has no line breaks, so one data line holds it.
const format = ({ id, event, data }: SseMessage): string =>
  `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`
