import type { Uuid } from '@meridian/core/kernel/ids'
import type { AttemptResponse } from '@meridian/core/run/outcome'

/** Stores a body that is too long to keep inline, and returns the name to find it by. */
export type StoreBody = (body: Buffer, about: { tenantId: Uuid; runId: Uuid; attempt: number }) => Promise<string>

/** How much of a response is kept, and where. */
export interface ResponseKeeping {
  /** Up to here a body stays with the run. */
  inlineBytesMax: number
  /** Up to here it is stored; what is longer is cut. Without a store give `inlineBytesMax`. */
  keptBytesMax: number
  storeBody: StoreBody | null
  /** Hears of a store that failed: the attempt itself has not. */
  onStoreError(error: unknown): void
}

// A store that hangs must not hold the attempt up for longer than this past its own deadline.
const storeMs = 1_000

/**
 * Takes a body that is too long to stay inline to the store, and cuts it in place. When the store fails or takes too
 * long, the rest is lost, and the response says so.
 */
export async function storeBeyondInline(
  response: AttemptResponse,
  { tenantId, runId, attempt }: { tenantId: Uuid; runId: Uuid; attempt: number },
  { inlineBytesMax, storeBody, onStoreError }: ResponseKeeping,
  leftMs: number,
): Promise<void> {
  const { body } = response
  try {
    if (storeBody) response.storedAs = await within(storeMs + leftMs, storeBody(body, { tenantId, runId, attempt }))
  } catch (error) {
    onStoreError(error)
  }
  // A copy, so that a row that waits to be written does not hold the whole body.
  response.body = Buffer.from(body.subarray(0, inlineBytesMax))
  response.truncated ||= response.storedAs === null
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`The response was not stored within ${Math.round(ms)} ms.`)), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
