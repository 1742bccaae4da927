import { startStack } from '../stack.ts'

/** Starts the product once for all flows, unless `MERIDIAN_HOME` says that it runs already. */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env.MERIDIAN_HOME) return () => Promise.resolve()
  const stack = await startStack()
  process.env.MERIDIAN_HOME = stack.home
  return stack.stop
}
