import type { World } from './world.ts'

/** How many runs of the tenant may be under way at once; returns how many might before. */
export const setCap = (world: World, tenantId: string, concurrency: number): Promise<number> =>
  world.withDatabase(async (client) => {
    const nobody = '00000000-0000-0000-0000-000000000000'
    const { rows } = await client.query<{ before: number }>(
      `update limits l set concurrency = $3 from limits b
       where l.tenant_id = $1 and l.queue_id = $2 and b.tenant_id = l.tenant_id and b.queue_id = l.queue_id returning b.concurrency as before`,
      [tenantId, nobody, concurrency],
    )
    if (rows[0] === undefined) throw new Error('the tenant has no limit')
    return rows[0].before
  })
