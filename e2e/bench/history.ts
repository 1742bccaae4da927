import { sleep, waitFor } from '../wait.ts'
import type { Benchmark, Measure } from './benchmark.ts'
import { getAtPace } from './get-run.ts'
import { warmUp } from './http-runs.ts'
import type { Lab } from './lab.ts'
import { Meridian, runBody } from './meridian.ts'
import { diskBytes, scheduleFar, settle, usualFigures } from './million.ts'
import { percentile } from './statistics.ts'

/** So that every filter fills a page already before. */
const sampleRuns = 20_000
const statementRuns = 100_000
/** Within the retention of 90 days. */
const days = 80
const dayMs = 86_400_000
const queues = ['history-0', 'history-1', 'history-2', 'history-3']
const jobCount = 20
const pageSize = 50

/** The weeks behind us, which an installation of that age has. */
const pastWeeks = `do $$ declare parent text; week date; name text; owner text; begin
  foreach parent in array array['inputs', 'runs'] loop
    select tableowner into owner from pg_tables where tablename = parent;
    for i in 2..${Math.ceil(days / 7)} loop
      week := date_trunc('week', clock_timestamp() at time zone 'UTC')::date - 7 * i;
      name := format('%s_w%s', parent, to_char(week, 'IYYY_IW'));
      continue when to_regclass(name) is not null;
      execute format('create table %I (like %I including defaults including constraints including storage)', name, parent);
      execute format('alter table %I owner to %I', name, owner);
      execute format($sql$alter table %I attach partition %I for values from ('%s UTC') to ('%s UTC')$sql$, parent, name, week, week + 7);
    end loop;
  end loop;
end $$`

/** Finished runs in the likeness of one, oldest first: half of them of jobs, one in twenty failed. $1 to $2 of $3. */
const insertRuns = `
  with like_this as (
    select i.*, r.executor_id, r.fence from inputs i join runs r using (tenant_id, project_id, id)
    where i.tenant_id = $4 and i.project_id = $5 and i.id = $6),
  names as (select array(select id from queues where tenant_id = $4 and name = any($7)) as queues,
    array(select id from jobs where tenant_id = $4 and name = 'history') as jobs),
  places as (select place, clock_timestamp() - make_interval(secs => 1 + ${days * 86_400} * (1 - place::float8 / $3)) as at
    from generate_series($1::int, $2::int) place),
  made as materialized (
    select at, case when place % 20 = 0 then 5 else 4 end as state, queues[1 + place % cardinality(queues)] as queue_id,
      case when place % 2 = 0 then jobs[1 + place / 2 % cardinality(jobs)] end as job_id,
      overlay(overlay(overlay(md5(random()::text) placing lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') from 1)
        placing '7' from 13) placing '8' from 17)::uuid as id
    from places, names),
  stored as (
    insert into inputs (tenant_id, project_id, id, keep_week, created_at, due_at, queue_id, pool, priority, source, job_id, job_version,
      payload_block, payload_offset)
    select l.tenant_id, l.project_id, m.id, date_trunc('week', m.at at time zone 'UTC')::date, m.at, m.at, m.queue_id, l.pool, l.priority,
      case when m.job_id is null then 0 else 2 end, m.job_id, case when m.job_id is not null then 1 end, l.payload_block, l.payload_offset
    from made m, like_this l)
  insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at, duration_ms, http_status, error,
    job_id, executor_id)
  select l.tenant_id, l.project_id, m.id, m.queue_id, l.pool, m.state, 1, l.fence, m.at, m.at + interval '2 ms', m.at + interval '30 ms', 28,
    case m.state when 4 then 200 else 500 end, case m.state when 5 then 'The target answered with status 500.' end, m.job_id, l.executor_id
  from made m, like_this l`

type Key = [tenantId: string, projectId: string, id: string]

/** The run that the history is like, once it has ended. */
async function findLike(meridian: Meridian): Promise<Key | undefined> {
  const [run] = await meridian.query<{ key: Key }>(
    'select array[r.tenant_id, r.project_id, r.id]::text[] as key from runs r join queues q on q.id = r.queue_id where q.name = $1 limit 1',
    [queues[0]],
  )
  return run?.key
}

/** Makes the weeks, the jobs and the queues of the history, and one run for it to be like. */
async function prepare(meridian: Meridian, url: string): Promise<Key> {
  await meridian.query(pastWeeks)
  const { api } = meridian
  for (const queue of queues) await meridian.createQueue(queue)
  const { target } = runBody(0, url)
  for (let made = 0; made < jobCount; made += 1) await api.ask('POST', '/v1/jobs', { name: 'history', target })
  await api.ask('POST', '/v1/runs', runBody(0, url, { queue: queues[0] ?? '' }))
  return waitFor('the run to be like', async () => (await findLike(meridian)) ?? false)
}

/** Loads finished runs up to now, in the database itself: through the front door it would take hours. */
async function load(lab: Lab, count: number): Promise<Measure[]> {
  const meridian = new Meridian(await lab.stack())
  const { url } = await lab.target()
  try {
    const like = (await findLike(meridian)) ?? (await prepare(meridian, url))
    const before = await diskBytes(meridian)
    const start = performance.now()
    for (let first = 1; first <= count; first += statementRuns) {
      const last = Math.min(count, first + statementRuns - 1)
      await meridian.query(insertRuns, [first, last, count, ...like, queues])
    }
    const perSecond = (count * 1_000) / (performance.now() - start)
    await settle(meridian)
    return [
      { metric: 'load', value: perSecond, unit: 'runs/s' },
      { metric: 'disk', value: ((await diskBytes(meridian)) - before) / count, unit: 'bytes/run' },
    ]
  } finally {
    await meridian.close()
  }
}

interface ListedRun {
  id: string
  jobId: string | null
}

/** What people look at, and how long the first page of it takes; the first half of the time is to warm up. */
async function lists(meridian: Meridian, seconds: number): Promise<Measure[]> {
  const daysAgo = (many: number) => new Date(Date.now() - many * dayMs).toISOString()
  const aDay = `createdFrom=${daysAgo(10)}&createdTo=${daysAgo(9)}`
  const page = async (query: string) =>
    (await meridian.api.ask<{ data: ListedRun[] }>('GET', `/v1/runs?limit=${pageSize}&${query}`)).data
  const job = (await page(aDay)).find(({ jobId }) => jobId !== null)?.jobId
  const queries = Object.entries({
    all: '',
    failed: 'status=failed',
    ended: 'status=succeeded,failed',
    job: `jobId=${job}`,
    'day-and-queue': `${aDay}&queue=${queues[1]}`,
  })
  const tookMs = new Map(queries.map(([name]) => [name, [] as number[]]))
  const start = performance.now()
  for (let turn = 0; turn < 20 || performance.now() - start < seconds * 1_000; turn += 1) {
    const counts = turn >= 10 && performance.now() - start >= seconds * 500
    for (const [name, query] of queries) {
      const askedAt = performance.now()
      const { length } = await page(query)
      if (length < pageSize) throw new Error(`the list ${name} has ${length} runs`)
      if (counts) tookMs.get(name)?.push(performance.now() - askedAt)
    }
    await sleep(5)
  }
  return [...tookMs].flatMap(([name, times]) =>
    [50, 99].map((percent) => ({ metric: `list-${name}.p${percent}`, value: percentile(times, percent), unit: 'ms' })),
  )
}

/** Some runs of every week. */
async function idsOfWeeks({ api }: Meridian): Promise<string[]> {
  const ids: string[] = []
  for (let week = 0; week * 7 < days - 7; week += 1) {
    const to = new Date(Date.now() - week * 7 * dayMs).toISOString()
    const { data } = await api.ask<{ data: ListedRun[] }>('GET', `/v1/runs?limit=20&status=succeeded&createdTo=${to}`)
    ids.push(...data.map(({ id }) => id))
  }
  return ids
}

/** First what reads, while the newest runs are those that were loaded. */
async function figures(lab: Lab): Promise<Measure[]> {
  const meridian = new Meridian(await lab.stack())
  try {
    const listed = await lists(meridian, lab.profile.seconds)
    const got = await getAtPace(lab, meridian, await idsOfWeeks(meridian))
    return [
      ...listed,
      ...got
        .filter(({ metric }) => metric === 'p50' || metric === 'p99')
        .map((each) => ({ ...each, metric: `get-run.${each.metric}` })),
      ...(await usualFigures(lab)),
    ]
  } finally {
    await meridian.close()
  }
}

export const history: Benchmark = {
  title: 'The same figures and what people look at, with ten million finished runs and a million scheduled ones',
  contenders: [
    {
      name: 'before',
      round: async (lab) => {
        await warmUp(lab)
        return [...(await load(lab, sampleRuns)), ...(await figures(lab))]
      },
    },
    {
      name: 'meridian',
      round: async (lab) => {
        const scheduled = await scheduleFar(lab)
        return [scheduled, ...(await load(lab, lab.profile.finishedRuns)), ...(await figures(lab))]
      },
    },
  ],
  rounds: 1,
}
