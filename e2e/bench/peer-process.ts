import { fork } from 'node:child_process'
import { endChild, pidOf } from '../program.ts'
import type { Peer, PeerName } from './peers/peer.ts'
import type { PeerReply, PeerRequest } from './peers/serve.ts'

/** How a call went, on the peer's own clock. */
export interface PeerCall {
  result: unknown
  /** When a tenth of a drain was done, after its start. */
  warmMs: number
  elapsedMs: number
}

/** A peer's program, freshly started. */
export interface PeerProcess {
  readonly pid: number
  call(verb: keyof Peer, args: readonly unknown[], onWarm?: () => void): Promise<PeerCall>
  stop(): Promise<void>
}

interface Pending {
  resolve(call: PeerCall): void
  reject(error: Error): void
  onWarm: (() => void) | undefined
}

/** Starts the program of a peer against the given stores. */
export function startPeer(name: PeerName, stores: { databaseUrl: string; redisUrl: string }): PeerProcess {
  const child = fork(new URL(`./peers/${name}.ts`, import.meta.url), {
    env: {
      ...process.env,
      DATABASE_URL: stores.databaseUrl,
      REDIS_URL: stores.redisUrl,
      NODE_ENV: 'production',
    },
  })
  const pending = new Map<number, Pending>()
  let lastId = 0
  child.on('message', (reply: PeerReply) => {
    const call = pending.get(reply.id)
    if ('warm' in reply) return call?.onWarm?.()
    pending.delete(reply.id)
    if ('error' in reply) call?.reject(new Error(`${name}: ${reply.error}`))
    else call?.resolve(reply)
  })
  child.on('exit', (code, signal) => {
    for (const call of pending.values()) call.reject(new Error(`${name} ended with ${code ?? signal}`))
    pending.clear()
  })
  return {
    pid: pidOf(child),
    call: (verb, args, onWarm) =>
      new Promise((resolve, reject) => {
        lastId += 1
        pending.set(lastId, { resolve, reject, onWarm })
        child.send({ id: lastId, verb, args } satisfies PeerRequest)
      }),
    stop: () => endChild(child),
  }
}
