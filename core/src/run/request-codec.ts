import { LRUCache } from 'lru-cache'
import type { Deadlines } from './deadline.ts'
import type { Expectation } from './expectation.ts'
import type { RetryPolicy } from './retry-policy.ts'
import { type Callbacks, type Target, targetTimeoutMs } from './target.ts'

/** What an executor needs to perform a run. Sealed as one envelope in `inputs` and `job_versions`. */
export interface RunRequest extends Deadlines {
  method: string
  url: string
  headers: Record<string, string>
  timeoutMs: number
  retry: RetryPolicy
  /** What the response has to be; absent: a status of 2xx. */
  expect?: Expectation
  /** Who is told of its end. */
  callbacks?: Callbacks
}

/** A target as an executor performs it, without its body. */
export const toRequest = (target: Target, retry: RetryPolicy, deadlines: Deadlines): RunRequest => ({
  method: target.method,
  url: target.url,
  headers: target.headers,
  timeoutMs: targetTimeoutMs(target),
  retry,
  ...deadlines,
  ...(target.expect === undefined ? {} : { expect: target.expect }),
  ...(target.callbacks === undefined ? {} : { callbacks: target.callbacks }),
})

// The body stays bytes behind a small head, so the hot path never parses it.
const lengthBytes = 2

interface Head {
  m: string
  u: string
  h: Record<string, string>
  t: number
  r: RetryPolicy
  s?: number
  e?: number
  x?: Expectation
  c?: Callbacks
}

/** Two bytes of head length (big endian), the head as JSON, the body as it is. The head is at most 65,535 bytes. */
export function encodeRequest(request: RunRequest, body: Buffer | null): Buffer {
  const { startWithinMs, endWithinMs, expect, callbacks } = request
  const head: Head = { m: request.method, u: request.url, h: request.headers, t: request.timeoutMs, r: request.retry }
  if (startWithinMs !== undefined) head.s = startWithinMs
  if (endWithinMs !== undefined) head.e = endWithinMs
  if (expect !== undefined) head.x = expect
  if (callbacks !== undefined) head.c = callbacks
  const json = JSON.stringify(head)
  const headBytes = Buffer.byteLength(json)
  const encoded = Buffer.allocUnsafe(lengthBytes + headBytes + (body?.length ?? 0))
  encoded.writeUInt16BE(headBytes)
  encoded.write(json, lengthBytes)
  if (body !== null) encoded.set(body, lengthBytes + headBytes)
  return encoded
}

// Many runs ask for the same but for their bodies: reading the same head again costs more than all else of opening one.
const heads = new LRUCache<string, Readonly<RunRequest>>({
  maxSize: 4 * 1024 * 1024,
  sizeCalculation: (_request, text) => 256 + text.length,
})

/** What `encodeRequest` wrote. The body shares the buffer's memory, the rest is shared with other runs: change neither. */
export function decodeRequest(encoded: Buffer): RunRequest & { body: Buffer | null } {
  const end = lengthBytes + encoded.readUInt16BE()
  const text = encoded.toString('utf8', lengthBytes, end)
  let request = heads.get(text)
  if (request === undefined) {
    request = toRunRequest(JSON.parse(text) as Head)
    heads.set(text, request)
  }
  return { ...request, body: encoded.length > end ? encoded.subarray(end) : null }
}

function toRunRequest(head: Head): RunRequest {
  const request: RunRequest = { method: head.m, url: head.u, headers: head.h, timeoutMs: head.t, retry: head.r }
  if (head.s !== undefined) request.startWithinMs = head.s
  if (head.e !== undefined) request.endWithinMs = head.e
  if (head.x !== undefined) request.expect = head.x
  if (head.c !== undefined) request.callbacks = head.c
  return request
}

/** The bytes of a target's body: a string as it is, `null` and absent as none, anything else as JSON. */
export const bodyBytes = (body: unknown): Buffer | null =>
  body === undefined || body === null ? null : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
