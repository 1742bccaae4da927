import { randomBytes } from 'node:crypto'
import { bootstrapTenant } from '@meridian/core/access/bootstrap'
import { openHome, readJson } from './home.ts'
import type { Ports } from './ports.ts'
import { Refusal } from './progress.ts'
import { keepSecrets } from './secrets.ts'
import { planStack } from './stack.ts'

/**
 * `tenant <slug> [--test-clock]`: a further tenant with a key of its own, for tests; its project follows real time, or a
 * clock that is set through the API. Prints `{ tenantId, projectId, apiKey }`.
 */
export async function tenant([slug = '', option]: readonly string[]): Promise<number> {
  const home = openHome()
  const ports = readJson<Ports>(home.file('ports.json'))
  if (!ports) throw new Refusal('Meridian has not run here yet; ./meridian up starts it')
  const apiKey = `mk_${randomBytes(32).toString('base64url')}`
  const { tenantId, projectId } = await bootstrapTenant(planStack(home, ports, keepSecrets(home)).ownerDatabaseUrl, {
    slug,
    name: slug,
    projects: [
      option === '--test-clock'
        ? { slug: 'main', name: 'Main', label: 'development', hasTestClock: true }
        : { slug: 'main', name: 'Main', label: 'production' },
    ],
    people: [],
    apiKey: { name: 'test', secret: apiKey },
  })
  process.stdout.write(`${JSON.stringify({ tenantId, projectId, apiKey })}\n`)
  return 0
}
