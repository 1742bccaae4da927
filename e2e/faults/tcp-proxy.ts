import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** How the wire between two programs behaves right now. */
export interface Wire {
  /** Each chunk arrives this much later, in both directions; order is kept. */
  delayMs?: number
  /** Chunks are swallowed: both sides stay connected and hear nothing, as after a cable was pulled. */
  drop?: boolean
  /** New connections are accepted but never reach the other side. */
  halfOpen?: boolean
  /** New connections are refused with a reset. */
  refuse?: boolean
}

/** A wire that a test can bend. */
export interface TcpProxy {
  readonly port: number
  /** Replaces how the wire behaves; `{}` heals it. What was dropped stays lost. */
  set(wire: Wire): void
  /** Resets every connection that is open now. */
  reset(): void
  /** How many connections are open now. */
  open(): number
  close(): Promise<void>
}

/** Listens on a free port of the loopback address and carries bytes to `host:port`, as the wire allows. */
export async function startTcpProxy(to: { host: string; port: number }): Promise<TcpProxy> {
  let wire: Wire = {}
  const pairs = new Set<readonly [Socket, Socket | undefined]>()

  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (wire.refuse === true) {
      near.resetAndDestroy()
      return
    }
    if (wire.halfOpen === true) {
      hold(near)
      return
    }
    const far = connect({ ...to, allowHalfOpen: true })
    const pair = [near, far] as const
    pairs.add(pair)
    carry(near, far, () => wire)
    carry(far, near, () => wire)
    const part = () => {
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    near.on('close', part)
    far.on('close', part)
  })

  function hold(near: Socket): void {
    const pair = [near, undefined] as const
    pairs.add(pair)
    near.resume()
    near.on('error', () => undefined)
    near.on('close', () => pairs.delete(pair))
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const reset = () => {
    for (const [near, far] of pairs) {
      near.resetAndDestroy()
      far?.resetAndDestroy()
    }
  }
  return {
    port: (server.address() as AddressInfo).port,
    set: (next) => {
      wire = next
    },
    reset,
    open: () => pairs.size,
    close: async () => {
      reset()
      server.close()
      await once(server, 'close')
    },
  }
}

function carry(from: Socket, to: Socket, wire: () => Wire): void {
  from.setNoDelay(true)
  from.on('error', () => undefined)
  // One line of waiting chunks: timers of their own could overtake each other.
  const waiting: { dueMs: number; work: () => void }[] = []
  const flush = () => {
    const now = performance.now()
    for (let head = waiting[0]; head !== undefined; head = waiting[0]) {
      if (head.dueMs > now) return void setTimeout(flush, Math.ceil(head.dueMs - now))
      waiting.shift()
      head.work()
    }
  }
  const later = (work: () => void) => {
    const delayMs = wire().delayMs ?? 0
    waiting.push({ dueMs: performance.now() + delayMs, work })
    if (waiting.length === 1) flush()
  }
  from.on('data', (chunk) => {
    if (wire().drop === true) return
    later(() => void (to.writable && to.write(chunk)))
  })
  from.on('end', () => {
    if (wire().drop !== true) later(() => to.end())
  })
}
