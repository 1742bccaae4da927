import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { bootstrapTenant } from '@meridian/core/access/bootstrap'
import { openHome, readJson } from './home.ts'
import type { Ports } from './ports.ts'
import { Refusal } from './progress.ts'
import { keepSecrets } from './secrets.ts'
import { planStack } from './stack.ts'

/**
 * `tenant <slug> [--test-clock] [--waiting-max N]`: a further tenant with a key of its own, for tests; its project follows real time, or a
 * clock that is set through the API. With `--waiting-max` its schedules start nothing while so many of its runs wait. Prints `{ tenantId, projectId, apiKey }`.
 */
export async function tenant(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { 'test-clock': { type: 'boolean', default: false }, 'waiting-max': { type: 'string' } },
  })
  const [slug = ''] = positionals
  const waitingMax = values['waiting-max']
  const home = openHome()
  const ports = readJson<Ports>(home.file('ports.json'))
  if (!ports) throw new Refusal('Meridian has not run here yet; ./meridian up starts it')
  const apiKey = `mk_${randomBytes(32).toString('base64url')}`
  const { tenantId, projectId } = await bootstrapTenant(planStack(home, ports, keepSecrets(home)).ownerDatabaseUrl, {
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
  return 0
}
