/** River without its GIN indexes, a program in Go: built into the tools folder when it is first needed. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { endChild } from '../../program.ts'
import type { Peer } from './peer.ts'
import { serve } from './serve.ts'

const tools = resolve(import.meta.dirname, '../../../.tools')
const program = join(tools, 'river')
mkdirSync(tools, { recursive: true })
// Go looks for itself whether anything has changed.
execFileSync('go', ['build', '-buildvcs=false', '-o', program, '.'], {
  cwd: join(import.meta.dirname, 'river'),
  stdio: ['ignore', 2, 2],
})

type Reply = { warm: true } | { warm?: never; result: number; error?: string }

const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] })
const replies = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
process.once('SIGTERM', () => void endChild(child).then(() => process.exit(0)))

async function ask(verb: keyof Peer, args: readonly unknown[], onWarm?: () => void): Promise<number> {
  child.stdin.write(`${JSON.stringify({ verb, args })}\n`)
  for (;;) {
    const { value, done } = await replies.next()
    if (done === true) throw new Error('the program ended')
    const reply = JSON.parse(value) as Reply
    if (reply.warm) onWarm?.()
    else if (reply.error !== undefined) throw new Error(reply.error)
    else return reply.result
  }
}

const peer: Peer = {
  reset: async () => void (await ask('reset', [])),
  load: async (count, url) => void (await ask('load', [count, url])),
  drain: async (count, onWarm) => void (await ask('drain', [count], onWarm)),
  create: (seconds, url) => ask('create', [seconds, url]),
  work: async () => void (await ask('work', [])),
  schedule: async (dueAtMs, url) => void (await ask('schedule', [dueAtMs, url])),
}

serve(peer)
