import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { startStack } from '../stack.ts'

const root = resolve(import.meta.dirname, '../..')

/** Starts the product once for all browser tests, unless one is given, and tells them where it is. */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env.MERIDIAN_STATUS) return () => Promise.resolve()
  const stack = await startStack()
  const env = { ...process.env, MERIDIAN_HOME: stack.home }
  const { stdout } = await promisify(execFile)(`${root}/meridian`, ['status', '--json'], { cwd: root, env })
  process.env.MERIDIAN_STATUS = stdout
  process.env.MERIDIAN_DATABASE_URL = stack.databaseUrl()
  process.env.MERIDIAN_TZDATA = resolve(stack.home, 'tzdata')
  return stack.stop
}
