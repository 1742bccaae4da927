import type { Pool } from '../db/client.ts'

/** Tables that runs pass through. `due` holds the future too, so that a vacuum of it costs as much as there is of that. */
export type PassedTable = 'due' | 'ready' | 'held'

/**
 * Vacuums tables that runs pass through. Each run leaves dead entries at the very front of their indexes, where every
 * look begins and begins again: after 20,000 of them a look takes six times as long, and autovacuum comes by only once a
 * minute. What somebody else is vacuuming is left to him.
 */
export async function tidyRunTables(pool: Pool, tables: readonly PassedTable[]): Promise<void> {
  for (const table of tables)
    await pool.query(`vacuum (skip_locked, parallel 0, truncate false, index_cleanup on) ${table}`)
}
