import { Pool } from 'undici'

/** A request to send, and when. */
export interface PacedRequest {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: string
}

/** What came of a paced run. */
export interface PaceResult {
  /** From the instant a request was meant to leave to the end of its answer, so a stalled server can't hide. */
  latenciesMs: number[]
  statuses: Map<number, number>
  errors: number
}

/**
 * Sends `perSecond` requests a second for `seconds`, whether or not earlier ones were answered, over at most 64
 * sockets. `onAnswer` sees the status and the body of each answer.
 */
export async function pace(
  origin: string,
  { perSecond, seconds }: { perSecond: number; seconds: number },
  make: (index: number) => PacedRequest,
  onAnswer: (index: number, status: number, body: string) => void = () => undefined,
): Promise<PaceResult> {
  const pool = new Pool(origin, { connections: 64, pipelining: 1 })
  const result: PaceResult = { latenciesMs: [], statuses: new Map(), errors: 0 }
  const total = Math.round(perSecond * seconds)
  const start = performance.now()
  const pending = new Set<Promise<void>>()
  const send = async (index: number): Promise<void> => {
    const meantAt = start + (index * 1_000) / perSecond
    try {
      const response = await pool.request(make(index))
      const body = await response.body.text()
      result.latenciesMs.push(performance.now() - meantAt)
      result.statuses.set(response.statusCode, (result.statuses.get(response.statusCode) ?? 0) + 1)
      onAnswer(index, response.statusCode, body)
    } catch {
      result.errors += 1
    }
  }
  let sent = 0
  while (sent < total) {
    const owed = Math.min(total, Math.floor(((performance.now() - start) * perSecond) / 1_000) + 1)
    for (; sent < owed; sent += 1) {
      const request = send(sent)
      pending.add(request)
      void request.finally(() => pending.delete(request))
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(pending)
  await pool.close()
  return result
}
