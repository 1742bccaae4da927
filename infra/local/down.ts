import { openHome } from './home.ts'
import { say } from './progress.ts'
import { stopStack } from './supervisor.ts'

/** `./meridian down`: stops what `up` started, also after `up` itself was killed. */
export async function down(): Promise<number> {
  const didRun = await stopStack(openHome())
  say(didRun ? 'Stopped.' : 'Nothing was running.')
  return 0
}
