import { spawn } from 'node:child_process'
import { accessSync, appendFileSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { signalProcess } from './process-record.ts'

export interface CommandOptions {
  cwd?: string
  env?: Readonly<Record<string, string | undefined>>
  input?: string
  user?: { uid: number; gid: number }
  /** Gets the output as it comes, beside its being collected. */
  logFile?: string
  /** Gets the pid, which leads a process group, as soon as there is one. */
  onStart?: (pid: number) => void
  /** The command is killed when it takes longer. */
  timeoutMs?: number
}

export interface CommandResult {
  ok: boolean
  /** The exit code, or the signal's name. */
  ending: string
  /** Standard output alone. */
  stdout: string
  /** Both streams, in the order in which they came. */
  output: string
}

// No command outlives the program that asked for it.
const running = new Set<number>()
process.on('exit', () => {
  for (const group of running) signalProcess(group, 'SIGKILL')
})

/** Runs a command to its end. A command that fails, or can't be started, is a result and not an error. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own, so that what the command starts can be ended with it.
      detached: true,
      ...options.user,
    })
    const group = child.pid
    if (group !== undefined) {
      running.add(group)
      options.onStart?.(group)
    }
    let stdout = ''
    let output = ''
    const take = (text: string): void => {
      output += text
      if (options.logFile !== undefined) appendFileSync(options.logFile, text)
    }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      take(text)
    })
    child.stderr.setEncoding('utf8').on('data', take)
    child.once('error', (error) => resolve({ ok: false, ending: error.message, stdout, output }))
    const end = (): void => {
      if (group !== undefined) signalProcess(group, 'SIGKILL')
    }
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(end, options.timeoutMs)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (group !== undefined) running.delete(group)
      resolve({ ok: code === 0, ending: signal ?? `code ${code}`, stdout, output })
    })
    // A command that ends without reading its input is no concern of ours.
    child.stdin.on('error', () => {})
    child.stdin.end(options.input)
  })
}

/** The full path of the first of these programs that PATH leads to. */
export function findProgram(...names: string[]): string | undefined {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(folder, name)
      try {
        accessSync(path, constants.X_OK)
        return path
      } catch {
        // Not here; the next folder may have it.
      }
    }
  }
  return undefined
}
