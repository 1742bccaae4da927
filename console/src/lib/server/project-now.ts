import { opened } from './open.ts'

/** What the clock of the open project says: its test clock, where it has one. */
export async function projectNow(locals: App.Locals): Promise<number> {
  const { sdk, project } = opened(locals)
  // A project labelled production follows real time.
  if (project.label === 'production') return locals.now
  const [clock] = (await sdk.testClocks.list({ limit: 1 }).page()).data
  return clock ? Date.parse(clock.now) : locals.now
}
