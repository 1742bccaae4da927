import type { Peer } from './peer.ts'

/** A call from the harness, and what comes back for it. */
export interface PeerRequest {
  id: number
  verb: keyof Peer
  args: readonly unknown[]
}
export type PeerReply =
  | { id: number; result: unknown; warmMs: number; elapsedMs: number }
  | { id: number; error: string }
  | { id: number; warm: true }

/** Lets the harness that forked this program drive `peer`. */
export function serve(peer: Peer): void {
  const reply = (message: PeerReply) => process.send?.(message)
  process.on('message', async ({ id, verb, args }: PeerRequest) => {
    const start = performance.now()
    let warmMs = 0
    const onWarm = () => {
      warmMs = performance.now() - start
      reply({ id, warm: true })
    }
    try {
      const run = peer[verb] as (...args: unknown[]) => Promise<unknown>
      const result = await run.call(peer, ...args, ...(verb === 'drain' ? [onWarm] : []))
      reply({ id, result, warmMs, elapsedMs: performance.now() - start })
    } catch (error) {
      reply({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.on('disconnect', () => process.exit(0))
}
