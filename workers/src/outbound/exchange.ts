import type { ErrorClass } from '@meridian/core/run/outcome'
import type { Dispatcher } from 'undici'
import { type BodyBudget, BodyBuffer } from './body-buffer.ts'
import type { Cancellation } from './cancellation.ts'
import type { ConnectTimes, Handover } from './connector.ts'
import { classifyError } from './failure.ts'
import { Link } from './link.ts'
import type { Expiring, Timer, TimerWheel } from './timer-wheel.ts'

export interface ExchangeRequest {
  method: Dispatcher.HttpMethod
  /** Absolute. What `urlProblems` objects to is refused. */
  url: string
  /** Names and values in turn. Host, length and connection headers are set here. */
  headers: string[]
  body: Buffer | null
  /** From the call to the last byte of the response. */
  timeoutMs: number
  /** How much of the response's body is kept. */
  bodyBytesMax: number
  urgency?: Urgency | undefined
}

/** What does not stand in line for a socket behind others; for critical requests some sockets even stay free. */
export type Urgency = 'express' | 'critical'

export interface ExchangeResponse {
  status: number
  headers: Record<string, string | string[]>
  body: Buffer
  truncated: boolean
}

/** One request and what came back. With a `failure`, `response` is what had come until then. */
export interface ExchangeResult {
  failure: { errorClass: ErrorClass; detail: string } | null
  response: ExchangeResponse | null
  /** Epoch milliseconds of the first byte on the socket. */
  sentAtMs: number | null
  /** From the call to the first byte on the socket. */
  sendMs: number | null
  firstByteMs: number | null
  /** Of the connection made for this request; `null` when a kept one served, or none came about. */
  connection: ConnectTimes | null
}

/** What all exchanges of one door have in common. */
export interface ExchangeShared {
  wheel: TimerWheel
  handover: Handover
  bodyBudget: BodyBudget
  /** Exchanges that have not settled. */
  pending: number
}

// The peer may say "wait" a few times (RFC 9110, 15.2); a flood of it would keep us parsing until the deadline.
const informationalMax = 16

/** Thrown back at undici when it starts a request that has ended meanwhile: it is dropped, and its socket kept. */
const endedEarlier = new Error('the request has ended already')

/** One request on its way through undici. It settles once, and tells its origin when undici is through with it. */
export class Exchange extends Link implements Dispatcher.DispatchHandler, Expiring {
  readonly #request: ExchangeRequest
  readonly #path: string
  readonly #resolve: (result: ExchangeResult) => void
  readonly #shared: ExchangeShared
  readonly #cancellation: Cancellation | undefined
  readonly #timer: Timer
  readonly #body: BodyBuffer
  readonly #startedAt = performance.now()
  #release: ((failed: boolean) => void) | null = null
  #controller: Dispatcher.DispatchController | null = null
  #connection: ConnectTimes | null = null
  #sentAtMs: number | null = null
  #sentAt = 0
  #headAt = 0
  #status = 0
  #headers: Record<string, string | string[]> = {}
  #informational = 0
  #settled = false

  get urgency(): Urgency | undefined {
    return this.#request.urgency
  }

  constructor(
    request: ExchangeRequest,
    path: string,
    shared: ExchangeShared,
    cancellation: Cancellation | undefined,
    resolve: (result: ExchangeResult) => void,
  ) {
    super()
    this.#request = request
    this.#path = path
    this.#resolve = resolve
    this.#shared = shared
    this.#cancellation = cancellation
    this.#body = new BodyBuffer(request.bodyBytesMax, shared.bodyBudget)
    shared.pending++
    cancellation?.attach(this)
    this.#timer = shared.wheel.set(request.timeoutMs, this)
  }

  /** Ends it from our side, wherever it is. */
  end(errorClass: ErrorClass, detail: string): void {
    if (this.#settled) return
    this.unlink()
    this.#settle({ errorClass, detail })
    this.#controller?.abort(endedEarlier)
  }

  /** Hands it to undici; `release` is called once undici has no more use for it. */
  dispatchOn(dispatcher: Dispatcher, release: (failed: boolean) => void): void {
    this.#release = release
    const { method, headers, body } = this.#request
    dispatcher.dispatch({ path: this.#path, method, headers, body }, this)
  }

  expire(): void {
    this.end('timeout', `No whole response within ${this.#request.timeoutMs} ms.`)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#settled) throw endedEarlier
    this.#controller = controller
    this.#connection = this.#shared.handover.times
    this.#sentAtMs = Date.now()
    this.#sentAt = performance.now()
  }

  onResponseStart(_controller: unknown, status: number, headers: ExchangeResponse['headers'] | object): void {
    if (status < 200) {
      if (++this.#informational > informationalMax)
        this.end('protocol-error', 'The target sent interim responses without end.')
      return
    }
    this.#headAt = performance.now()
    this.#status = status
    this.#headers = headers as ExchangeResponse['headers']
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#settled || this.#body.take(chunk)) return
    // More than is kept: the rest would only cost us, so the socket goes.
    this.#settle(null)
    this.#controller?.abort(endedEarlier)
  }

  onResponseEnd(): void {
    this.#settle(null)
    this.#release?.(false)
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (!this.#settled) {
      this.#connection ??= this.#shared.handover.times
      const { errorClass, message } = classifyError(error, this.#status !== 0)
      this.#settle({ errorClass, detail: message })
    }
    this.#release?.(true)
  }

  #settle(failure: ExchangeResult['failure']): void {
    if (this.#settled) return
    this.#settled = true
    this.#shared.pending--
    this.#shared.wheel.clear(this.#timer)
    this.#cancellation?.release()
    const { bytes, truncated } = this.#body.close()
    this.#resolve({
      failure,
      response:
        this.#status === 0
          ? null
          : { status: this.#status, headers: this.#headers, body: bytes, truncated: truncated || failure !== null },
      sentAtMs: this.#sentAtMs,
      sendMs: this.#sentAtMs === null ? null : this.#sentAt - this.#startedAt,
      firstByteMs: this.#status === 0 ? null : this.#headAt - this.#sentAt,
      connection: this.#connection,
    })
  }
}
