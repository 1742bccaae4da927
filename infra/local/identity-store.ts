import { DatabaseSync } from 'node:sqlite'
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

/** Keeps what the identity provider hands out in a file, so that sessions and refresh tokens outlive a restart. */
export function openIdentityStore(file: string): AdapterFactory {
  const database = new DatabaseSync(file)
  database.exec(`
    pragma journal_mode = wal;
    create table if not exists artifacts (
      model text not null, id text not null, payload text not null, expires_at real,
      grant_id text, user_code text, uid text, primary key (model, id)
    );
    create index if not exists artifacts_by_grant on artifacts (grant_id);
    create index if not exists artifacts_by_uid on artifacts (uid);
    delete from artifacts where expires_at < unixepoch();
  `)
  const upsert = database.prepare('insert or replace into artifacts values (?, ?, ?, ?, ?, ?, ?)')
  const unexpired = '(expires_at is null or expires_at > unixepoch())'
  const byId = database.prepare(`select payload from artifacts where model = ? and id = ? and ${unexpired}`)
  const byUid = database.prepare(`select payload from artifacts where model = ? and uid = ? and ${unexpired}`)
  const byUserCode = database.prepare(
    `select payload from artifacts where model = ? and user_code = ? and ${unexpired}`,
  )
  const consume = database.prepare(
    "update artifacts set payload = json_set(payload, '$.consumed', unixepoch()) where model = ? and id = ?",
  )
  const destroy = database.prepare('delete from artifacts where model = ? and id = ?')
  const revoke = database.prepare('delete from artifacts where grant_id = ?')
  const parse = (row: Record<string, unknown> | undefined): AdapterPayload | undefined =>
    row && (JSON.parse(String(row.payload)) as AdapterPayload)

  return (model): Adapter => ({
    upsert: async (id, payload, expiresIn) => {
      const expiresAt = expiresIn === undefined ? null : Date.now() / 1_000 + expiresIn
      const { grantId, userCode, uid } = payload
      upsert.run(model, id, JSON.stringify(payload), expiresAt, grantId ?? null, userCode ?? null, uid ?? null)
    },
    find: async (id) => parse(byId.get(model, id)),
    findByUid: async (uid) => parse(byUid.get(model, uid)),
    findByUserCode: async (userCode) => parse(byUserCode.get(model, userCode)),
    consume: async (id) => {
      consume.run(model, id)
    },
    destroy: async (id) => {
      destroy.run(model, id)
    },
    revokeByGrantId: async (grantId) => {
      revoke.run(grantId)
    },
  })
}
