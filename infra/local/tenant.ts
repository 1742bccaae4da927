import { randomBytes } from 'node:crypto'
import { bootstrapTenant } from '@meridian/core/access/bootstrap'
import { readArguments } from './arguments.ts'
import { openHome, readJson } from './home.ts'
import type { Ports } from './ports.ts'
import { Refusal } from './progress.ts'
import { keepSecrets } from './secrets.ts'
import { planStack } from './stack.ts'

/**
 * `tenant <slug>... [--test-clock] [--waiting-max N]`: further tenants with a key each, for tests; their projects follow real time, or a
 * clock that is set through the API. With `--waiting-max` their schedules start nothing while so many of their runs wait. Prints a line
 * `{ tenantId, projectId, apiKey }` for each.
 */
export async function tenant(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(
    args,
    { 'test-clock': { type: 'boolean', default: false }, 'waiting-max': { type: 'string' } },
    { allowPositionals: true },
  )
  const waitingMax = values['waiting-max']
  const home = openHome()
  const ports = readJson<Ports>(home.file('ports.json'))
  if (!ports) throw new Refusal('Meridian has not run here yet; ./meridian up starts it')
  const { ownerDatabaseUrl } = planStack(home, ports, keepSecrets(home))
  for (const slug of positionals) {
    const apiKey = `mk_${randomBytes(32).toString('base64url')}`
    const { tenantId, projectId } = await bootstrapTenant(ownerDatabaseUrl, {
      slug,
      name: slug,
      projects: [
        values['test-clock']
          ? { slug: 'main', name: 'Main', label: 'development', hasTestClock: true }
          : { slug: 'main', name: 'Main', label: 'production' },
      ],
      people: [],
      apiKey: { name: 'test', secret: apiKey },
      waitingMax: waitingMax === undefined ? undefined : Number(waitingMax),
    })
    process.stdout.write(`${JSON.stringify({ tenantId, projectId, apiKey })}\n`)
  }
  return 0
}
