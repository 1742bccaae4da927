import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** vitest's global setup: the real API as a process of its own. Provides its URL and a key as `api`. */
export default async function setup(project: {
  provide(key: 'api', value: { url: string; apiKey: string }): void
}): Promise<() => Promise<void>> {
  const program = fileURLToPath(new URL('../../api/test/serve.ts', import.meta.url))
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    ended.then(() => Promise.reject(new Error('the API did not start'))),
  ])) as [string]
  project.provide('api', JSON.parse(line) as { url: string; apiKey: string })
  return async () => {
    child.stdin.end()
    await ended
  }
}

declare module 'vitest' {
  export interface ProvidedContext {
    api: { url: string; apiKey: string }
  }
}
