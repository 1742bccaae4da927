import { randomUUID } from 'node:crypto'
import { sleep } from '../wait.ts'
import type { AcceptedRun } from './checker.ts'
import type { World } from './world.ts'

/** What the API said when it did not accept a run. */
export interface Refusal {
  atMs: number
  /** 0: no answer at all. */
  status: number
  contentType: string
  retryAfter: string
}

/** A steady stream of creates that never gives up on one: each is tried again, with its key, until a 2xx. */
export interface Load {
  /** The queue the runs are in, and the label of their calls at the receiver. */
  readonly label: string
  readonly accepted: readonly AcceptedRun[]
  readonly refusals: readonly Refusal[]
  /** Ends the stream and returns when every create that was begun has its 2xx. */
  stop(): Promise<void>
}

export interface LoadOptions {
  /** How the target behaves; see the receiver. */
  behaviour?: string
  rate?: number
  /** Runs are due up to this long after they are created. */
  leadMs?: number
  /** The port that calls go to, when something stands before the receiver. */
  port?: number
  /** Where creates go; the API of the stack when absent. */
  send?: World['api']['send']
}

/** Starts creating runs, one request each, in a queue of their own. */
export async function startLoad(world: World, options: LoadOptions = {}): Promise<Load> {
  const { behaviour = 'slow/50', rate = world.profile.rate, leadMs = 500 } = options
  const send = options.send ?? world.api.send.bind(world.api)
  const label = `load-${randomUUID()}`
  const accepted: AcceptedRun[] = []
  const refusals: Refusal[] = []
  const pending = new Set<Promise<void>>()
  const url = new URL(world.receiver.url(label, behaviour))
  if (options.port !== undefined) url.port = String(options.port)
  let isStopping = false

  const create = async () => {
    const key = randomUUID()
    const dueAt = new Date(Date.now() + Math.random() * leadMs)
    const body = { target: { type: 'http', url: url.href }, queue: label, dueAt: dueAt.toISOString() }
    const giveUpAt = performance.now() + 120_000
    while (performance.now() < giveUpAt) {
      try {
        const answer = await send<{ id: string }>('POST', '/v1/runs', body, { 'idempotency-key': key })
        if (answer.status >= 200 && answer.status < 300) {
          accepted.push({ id: answer.body.id, dueAtMs: dueAt.getTime() })
          return
        }
        refusals.push({
          atMs: Date.now(),
          status: answer.status,
          contentType: String(answer.headers['content-type'] ?? ''),
          retryAfter: String(answer.headers['retry-after'] ?? ''),
        })
      } catch {
        refusals.push({ atMs: Date.now(), status: 0, contentType: '', retryAfter: '' })
      }
      await sleep(200)
    }
    throw new Error('a create was not accepted within two minutes')
  }

  const pump = async () => {
    const start = performance.now()
    for (let begun = 0; !isStopping; ) {
      const owed = Math.floor(((performance.now() - start) * rate) / 1_000)
      for (; begun < owed; begun += 1) {
        const creating = create()
        pending.add(creating)
        creating.then(
          () => pending.delete(creating),
          () => undefined,
        )
      }
      await sleep(5)
    }
  }
  // The first create makes the queue; a rush of them would race for it.
  await create()
  const pumping = pump()
  return {
    label,
    accepted,
    refusals,
    stop: async () => {
      isStopping = true
      await pumping
      await Promise.all(pending)
    },
  }
}
