import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'

/** A program of ours running as its own process. */
export interface Program {
  readonly pid: number
  /** The JSON line it printed when it was ready. */
  readonly ready: Record<string, unknown>
  /** Ends it; SIGKILL when it does not go by itself within five seconds. */
  stop(): Promise<void>
}

/** Starts a TypeScript program with this Node and waits for the JSON line it prints when it is ready. */
export async function startProgram(
  file: URL,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Program> {
  const child = spawn(process.execPath, [file.pathname, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })
  const first = await Promise.race([
    once(lines, 'line').then(([line]) => String(line)),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${file.pathname} ended with ${code} before it was ready`)
    }),
  ])
  lines.on('line', (line) => process.stderr.write(`${line}\n`))
  return {
    pid: pidOf(child),
    ready: JSON.parse(first) as Record<string, unknown>,
    stop: () => endChild(child),
  }
}

/** Sends SIGTERM, then SIGKILL after five seconds, and returns when the process has gone. */
export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const impatience = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await exited
  clearTimeout(impatience)
}

/** The pid of a child that has been spawned; throws when it could not be. */
export function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error(`could not start ${child.spawnfile}`)
  return child.pid
}

/** A TCP port of the loopback address that nobody listens on right now. */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return address.port
}
