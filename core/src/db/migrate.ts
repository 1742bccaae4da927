import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const migrations = new URL('../../migrations/', import.meta.url)

export interface MigrationResult {
  applied: string[]
}

/**
 * Brings a database up to date: numbered SQL files, each in a transaction of its own, forward only. A file whose
 * first line is `-- no transaction` runs statement by statement. Safe to call from several processes at once.
 * Throws when a file that was applied has been edited since.
 * @param ownerUrl a login that may create tables, roles and functions
 * @param folder where the files are: the product's own, when absent
 */
export async function migrate(ownerUrl: string, folder: URL = migrations): Promise<MigrationResult> {
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    // The database's own limit is for requests; an index on a large table takes what it takes.
    await client.query('set statement_timeout = 0')
    await takeTurn(client)
    await client.query(
      'create table if not exists schema_migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    )
    const known = new Map(
      (await client.query<{ name: string; checksum: string }>('select name, checksum from schema_migrations')).rows.map(
        (row) => [row.name, row.checksum],
      ),
    )
    const applied: string[] = []
    for (const name of (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()) {
      const text = await readFile(new URL(name, folder), 'utf8')
      const checksum = createHash('sha256').update(text).digest('hex')
      const before = known.get(name)
      if (before === checksum) continue
      if (before !== undefined) throw new Error(`migration ${name} was edited after it was applied`)
      await apply(client, name, text, checksum)
      applied.push(name)
    }
    return { applied }
  } finally {
    await client.end()
  }
}

const turnMs = 100

/** Waits without a statement under way: an index that is built concurrently waits for all of those. */
async function takeTurn(client: pg.Client): Promise<void> {
  const ask = "select pg_try_advisory_lock(hashtext('meridian-migrations')) as mine"
  while (!(await client.query<{ mine: boolean }>(ask)).rows[0]?.mine) await sleep(turnMs)
}

async function apply(client: pg.Client, name: string, text: string, checksum: string): Promise<void> {
  const record = (): Promise<unknown> =>
    client.query('insert into schema_migrations (name, checksum) values ($1, $2)', [name, checksum])
  if (text.startsWith('-- no transaction')) {
    for (const statement of text.split(/;\s*$/m).filter((part) => part.trim() !== '')) await client.query(statement)
    await record()
    return
  }
  await client.query('begin')
  try {
    await client.query(text)
    await record()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}
