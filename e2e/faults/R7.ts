import { Api } from '../api.ts'
import { sleep } from '../wait.ts'
import { ensure, type Row } from './row.ts'

const poolMax = 10

export const row: Row = {
  title: 'connections killed at checkout leak nothing: two seconds later every request is served',
  async run(world) {
    const extra = await world.stack.startExtra('api', { DATABASE_POOL: String(poolMax) })
    const api = new Api(`http://127.0.0.1:${extra.port}`, world.stack.apiKey)
    try {
      await world.withDatabase(async (client) => {
        const before = await appConnections(client)
        let killed = 0
        const requests: Promise<unknown>[] = []
        while (killed < 200) {
          for (let burst = 0; burst < 20; burst += 1) {
            requests.push(api.send('GET', '/v1/runs?limit=1').catch(() => undefined))
          }
          const { rowCount } = await client.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'meridian_app'",
          )
          killed += rowCount ?? 0
          await sleep(10)
        }
        await Promise.all(requests)
        await sleep(2_000)
        const answers = await Promise.all(Array.from({ length: 100 }, () => api.send('GET', '/v1/runs?limit=1')))
        const failed = answers.filter(({ status }) => status !== 200)
        ensure(failed.length === 0, `${failed.length} of 100 requests failed afterwards: ${failed[0]?.text}`)
        const now = await appConnections(client)
        ensure(now <= before + poolMax, `${now} connections are open, before there were ${before}`)
      })
    } finally {
      await api.close()
      await extra.stop()
    }
  },
}

async function appConnections(client: {
  query(text: string): Promise<{ rows: { count: number }[] }>
}): Promise<number> {
  const { rows } = await client.query(
    "select count(*)::int as count from pg_stat_activity where usename = 'meridian_app'",
  )
  return rows[0]?.count ?? 0
}
