import type { Client } from 'pg'
import { ensure } from './row.ts'

/** The tables that every step of an open run goes through. */
const tables = ['due', 'ready', 'held']

interface Scans {
  whole: number
  byIndex: number
}

/** How often each of the tables of open runs was read so far, whole and by an index. */
export async function readScans(client: Client): Promise<Map<string, Scans>> {
  const { rows } = await client.query<Scans & { name: string }>(
    `select relname as name, seq_scan::float8 as whole, idx_scan::float8 as "byIndex"
     from pg_stat_user_tables where schemaname = 'public' and relname = any($1)`,
    [tables],
  )
  return new Map(rows.map((each) => [each.name, each]))
}

/** Throws if one of them was read whole meanwhile, or was not read at all. */
export function assertByIndex(before: Map<string, Scans>, during: Map<string, Scans>): void {
  for (const table of tables) {
    const { whole, byIndex } = difference(during.get(table), before.get(table))
    ensure(whole === 0, `${table} was read whole ${whole} times`)
    ensure(byIndex > 0, `${table} was not looked into: the test saw nothing`)
  }
}

const difference = (now: Scans | undefined, then: Scans | undefined): Scans => ({
  whole: (now?.whole ?? 0) - (then?.whole ?? 0),
  byIndex: (now?.byIndex ?? 0) - (then?.byIndex ?? 0),
})
