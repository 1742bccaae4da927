import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { RoleName } from '../src/config.ts'

/** The workers' program as a process of its own, which can be frozen and killed. */
export interface WorkerProcess {
  signal(signal: NodeJS.Signals): void
  /** The exit code, or null when a signal ended it. */
  exited: Promise<number | null>
  /** What it logged so far, one entry a line. */
  lines: Record<string, unknown>[]
  /** Resolves when it has logged a line with this message. */
  logged(message: string): Promise<void>
}

export async function startWorkerProcess(
  roles: RoleName[],
  environment: Record<string, string>,
): Promise<WorkerProcess> {
  const child: ChildProcess = spawn(
    process.execPath,
    [new URL('../src/main.ts', import.meta.url).pathname, `--roles=${roles.join(',')}`],
    {
      env: { PATH: process.env['PATH'], METRICS_PORT: '0', ALLOW_PRIVATE_TARGETS: 'true', ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const lines: Record<string, unknown>[] = []
  let waiters: { message: string; resolve: () => void }[] = []
  if (child.stdout === null) throw new Error('no output')
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Record<string, unknown>
    lines.push(line)
    for (const { resolve } of waiters.filter(({ message }) => line['msg'] === message)) resolve()
    waiters = waiters.filter(({ message }) => line['msg'] !== message)
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const logged = (message: string): Promise<void> =>
    lines.some((line) => line['msg'] === message)
      ? Promise.resolve()
      : new Promise((resolve) => waiters.push({ message, resolve }))
  await Promise.race([
    logged('workers are up'),
    exited.then((code) => {
      throw new Error(`the workers ended with ${code}`)
    }),
  ])
  return { signal: (signal) => void child.kill(signal), exited, lines, logged }
}
