import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { createTestDb, type TestDb } from '../../src/testing/test-db.ts'

let db: TestDb
let path: string
let folder: URL
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())
afterEach(() => rm(path, { recursive: true, force: true }))
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'meridian-migrations-'))
  folder = pathToFileURL(`${path}/`)
})

const file = (name: string, text: string): Promise<void> => writeFile(join(path, name), text)
const exists = async (table: string): Promise<boolean> =>
  (await db.owner.query<{ it: string | null }>('select to_regclass($1)::text as it', [table])).rows[0]?.it !== null

describe('migrating', () => {
  it('a database that is up to date is left alone', async () => {
    expect(await migrate(db.ownerUrl)).toEqual({ applied: [] })
  })

  it('applies what is new, in the order of the numbers, once, however many start at once', async () => {
    await file('0100_b.sql', 'insert into zebra values (2)')
    await file('0099_a.sql', 'create table zebra (n int); insert into zebra values (1)')
    await file('notes.txt', 'not a migration')
    const results = await Promise.all(Array.from({ length: 4 }, () => migrate(db.ownerUrl, folder)))
    expect(results.flatMap((result) => result.applied)).toEqual(['0099_a.sql', '0100_b.sql'])
    expect((await db.owner.query('select n from zebra order by n')).rows).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('a file that fails leaves nothing of itself, is named, and keeps the later ones out', async () => {
    await file('0201_good.sql', 'create table good_one (n int)')
    await file('0202_bad.sql', 'create table half_done (n int); select 1 / 0')
    await file('0203_later.sql', 'create table later_one (n int)')
    await expect(migrate(db.ownerUrl, folder)).rejects.toThrow('migration 0202_bad.sql failed: division by zero')
    expect([await exists('good_one'), await exists('half_done'), await exists('later_one')]).toEqual([
      true,
      false,
      false,
    ])
    await file('0202_bad.sql', 'create table half_done (n int)')
    expect(await migrate(db.ownerUrl, folder)).toEqual({ applied: ['0202_bad.sql', '0203_later.sql'] })
  })

  it('a file that was edited after it was applied is refused', async () => {
    await file('0301_x.sql', 'create table once_only (n int)')
    await migrate(db.ownerUrl, folder)
    await file('0301_x.sql', 'create table once_only (n bigint)')
    await expect(migrate(db.ownerUrl, folder)).rejects.toThrow('0301_x.sql was edited after it was applied')
  })

  it('builds an index concurrently, though another waits for its turn', async () => {
    await file('0401_table.sql', 'create table indexed (n int)')
    await file(
      '0402_index.sql',
      '-- no transaction\ncreate index concurrently indexed_n on indexed (n);\ninsert into indexed values (1);\n',
    )
    const results = await Promise.all([
      migrate(db.ownerUrl, folder),
      migrate(db.ownerUrl, folder),
      migrate(db.ownerUrl, folder),
    ])
    expect(results.flatMap((result) => result.applied)).toEqual(['0401_table.sql', '0402_index.sql'])
    expect(await exists('indexed_n')).toBe(true)
    expect((await db.owner.query('select n from indexed')).rows).toEqual([{ n: 1 }])
  })
})
