import { existsSync, readdirSync } from 'node:fs'
import { type Home, openHome, remove } from './home.ts'
import { removePostgres } from './postgres.ts'
import { Refusal, say } from './progress.ts'
import { stopStack } from './supervisor.ts'

/** `./meridian reset`: stops, and throws the data, secrets, ports and logs of this home away. */
export async function reset(): Promise<number> {
  const home = openHome()
  assertHome(home)
  await stopStack(home)
  removePostgres(home)
  remove(home.path)
  say('The local data is gone; ./meridian up begins anew.')
  return 0
}

// MERIDIAN_HOME may name anything, and this removes all of it.
function assertHome(home: Home): void {
  const entries = existsSync(home.path) ? readdirSync(home.path) : []
  const isOurs = ['ports.json', 'supervisor.json', 'logs'].some((name) => entries.includes(name))
  if (entries.length > 0 && !isOurs) {
    throw new Refusal(`${home.path} does not look like something that ./meridian made; nothing was removed`)
  }
}
