import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import * as schema from './schema.ts'

interface Column {
  name: string
  type: string
  notNull: boolean
  hasDefault: boolean
}

let db: TestDb
let migrated: Map<string, { columns: Column[]; primaryKey: string[] }>

const columnsOf = `
  select c.relname as "table", a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as "notNull",
    a.atthasdef or a.attidentity <> '' as "hasDefault"
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and a.attnum > 0 and not a.attisdropped and c.relname <> 'schema_migrations'
  order by 1, a.attnum`

const primaryKeysOf = `
  select c.relname as "table", array(select a.attname::text from unnest(i.indkey) with ordinality k(num, place)
    join pg_attribute a on a.attrelid = c.oid and a.attnum = k.num order by k.place) as columns
  from pg_index i join pg_class c on c.oid = i.indrelid
  where i.indisprimary and c.relnamespace = 'public'::regnamespace and not c.relispartition`

beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  migrated = new Map()
  for (const { table, ...column } of (await db.owner.query<Column & { table: string }>(columnsOf)).rows) {
    const known = migrated.get(table) ?? { columns: [], primaryKey: [] }
    known.columns.push(column)
    migrated.set(table, known)
  }
  for (const key of (await db.owner.query<{ table: string; columns: string[] }>(primaryKeysOf)).rows) {
    const known = migrated.get(key.table)
    if (known !== undefined) known.primaryKey = key.columns
  }
})
afterAll(() => db.close())

const tables: PgTable[] = Object.values(schema)

describe('schema.ts is what the migrations make', () => {
  test('every table of the database is in it, and no other', () => {
    const declared = tables.map((table) => getTableConfig(table).name)
    expect(declared.toSorted()).toEqual([...migrated.keys()].toSorted())
  })

  test.each(tables.map((table) => [getTableConfig(table).name, table] as const))(
    '%s has the same columns, types, nullability, defaults and primary key',
    (name, table) => {
      const config = getTableConfig(table)
      const columns = config.columns.map((column) => ({
        name: column.name,
        type: column.getSQLType(),
        notNull: column.notNull,
        hasDefault: column.hasDefault || column.generatedIdentity !== undefined || column.generated !== undefined,
      }))
      const own = config.columns.filter((column) => column.primary).map((column) => column.name)
      const primaryKey = config.primaryKeys[0]?.columns.map((column) => column.name) ?? own
      expect({ columns, primaryKey }).toEqual(migrated.get(name))
    },
  )
})
