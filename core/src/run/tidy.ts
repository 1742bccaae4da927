import type { Pool } from '../db/client.ts'

const tables = ['due', 'ready', 'held'] as const

/**
 * Vacuums the tables that runs pass through. Each run leaves dead entries at the very front of their indexes, where every
 * look begins: after 100,000 of them a look takes ten times as long, and autovacuum comes by only once a minute. What
 * somebody else is vacuuming is left to him.
 */
export async function tidyRunTables(pool: Pool): Promise<void> {
  for (const table of tables)
    await pool.query(`vacuum (skip_locked, parallel 0, truncate false, index_cleanup on) ${table}`)
}
