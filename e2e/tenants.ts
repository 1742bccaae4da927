import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A tenant of an installation beside the one that it came with. */
export interface Tenant {
  tenantId: string
  apiKey: string
}

/** Makes tenants with a key each. Whoever owns the installation makes them; there is no route for it. */
export async function makeTenants(home: string, slugs: readonly string[]): Promise<Tenant[]> {
  const main = join(import.meta.dirname, '../infra/local/main.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'tenant', ...slugs], {
    env: { ...process.env, MERIDIAN_HOME: home },
  })
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Tenant)
}
