-- Limits beyond the concurrency of a queue and an organisation: rates, keys, jobs, hosts, projects, costs, backlogs.

-- What a person set. It holds for what its scope says, as a whole, or apart for each value of a key.
create table flow_limits (
  tenant_id uuid not null references tenants on delete cascade,
  id uuid not null,
  -- Null: of the whole organisation.
  project_id uuid,
  name text not null,
  scope text not null check (scope in ('tenant', 'project', 'queue', 'job', 'host')),
  queue_id uuid,
  job_id uuid,
  -- A name, with a port or without; or `*.` and a domain.
  host text,
  -- CEL over the run's request. Null: one for all.
  key_expression text,
  -- CEL as well: how many units a run takes. Null: one.
  cost_expression text,
  -- Units that may be queued or running at once.
  concurrency int check (concurrency > 0),
  -- So many units per period; the bucket holds rate_burst of them.
  rate_count int check (rate_count > 0),
  rate_ms bigint check (rate_ms > 0),
  rate_burst int check (rate_burst > 0),
  -- The most runs that may wait.
  backlog_max int check (backlog_max > 0),
  when_full text check (when_full in ('reject', 'drop-oldest')),
  paused_at timestamptz,
  paused_by text,
  pause_reason text,
  -- Set by an operator: the tenant can't change it.
  pinned_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  version int not null default 1,
  -- It holds whole groups of runs, so that no run needs to carry it.
  is_whole boolean not null generated always as (key_expression is null and cost_expression is null and scope in ('tenant', 'project', 'queue')) stored,
  primary key (tenant_id, id),
  unique nulls not distinct (tenant_id, project_id, name),
  foreign key (tenant_id, project_id) references projects on delete cascade,
  foreign key (tenant_id, queue_id) references queues on delete cascade,
  foreign key (tenant_id, job_id) references jobs on delete cascade,
  check ((scope = 'tenant') = (project_id is null)),
  check ((scope = 'queue') = (queue_id is not null)),
  check ((scope = 'job') = (job_id is not null)),
  check ((scope = 'host') = (host is not null)),
  check ((rate_count is null) = (rate_ms is null) and (rate_count is null) = (rate_burst is null)),
  check ((backlog_max is null) = (when_full is null))
);

-- A limit and one value of its key: what units are counted by. Units in use are those of live rows, never kept here.
create table gates (
  tenant_id uuid not null,
  id uuid not null,
  limit_id uuid not null,
  key text not null default '',
  -- When the bucket of a rate is full again, were nothing to be taken from now on.
  full_at timestamptz not null default '-infinity',
  seen_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id),
  foreign key (tenant_id, limit_id) references flow_limits on delete cascade
);
create index gates_limit on gates (tenant_id, limit_id);

-- Runs of one queue that have the same gates before them, at the same cost, wait in one lane.
create table lanes (
  tenant_id uuid not null,
  id uuid not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id)
);

create table lane_gates (
  tenant_id uuid not null,
  lane_id uuid not null,
  gate_id uuid not null,
  cost int not null,
  primary key (tenant_id, lane_id, gate_id),
  foreign key (tenant_id, lane_id) references lanes on delete cascade,
  foreign key (tenant_id, gate_id) references gates on delete cascade
);
create index lane_gates_gate on lane_gates (tenant_id, gate_id);

-- A run without a lane pays nothing for those that have one: these lie in `ready` under the number of their pool and 1,000,
-- which is walked on its own.
alter table due add column lane uuid;
alter table ready add column lane uuid, add check (pool <= 0 or (pool > 1000) = (lane is not null));
alter table held add column lane uuid, add check (pool > 0);
create index due_lane on due (tenant_id, lane) where lane is not null;
create index ready_lane on ready (tenant_id, lane, priority, due_at) where lane is not null;

-- Whether a whole limit holds for the queue: then its runs without a lane ask their gates, too.
alter table limits add column gated boolean not null default false;
create index limits_gated on limits (tenant_id, queue_id) where gated;

create function is_gated(p_tenant uuid, p_queue uuid) returns boolean language sql stable as $f$
  select exists (select from flow_limits f join queues q on q.tenant_id = f.tenant_id and q.id = p_queue
    where f.tenant_id = p_tenant and f.is_whole and (f.scope = 'tenant' or (f.scope = 'project' and f.project_id = q.project_id) or f.queue_id = q.id))
$f$;

create function mark_gated() returns trigger language plpgsql as $f$
begin
  if tg_table_name = 'limits' then
    new.gated := is_gated(new.tenant_id, new.queue_id);
    return new;
  end if;
  update limits l set gated = is_gated(l.tenant_id, l.queue_id)
    where l.tenant_id = coalesce(new.tenant_id, old.tenant_id) and l.gated is distinct from is_gated(l.tenant_id, l.queue_id);
  return null;
end $f$;
create trigger limits_gated before insert on limits for each row execute function mark_gated();
create trigger flow_limits_made after insert on flow_limits for each row when (new.is_whole) execute function mark_gated();
create trigger flow_limits_gone after delete on flow_limits for each row when (old.is_whole) execute function mark_gated();

-- What a run has before it, and how many units it takes of each.
create function gates_of(p_tenant uuid, p_queue uuid, p_lane uuid) returns table (gate_id uuid, cost int)
language sql stable as $f$
  select lg.gate_id, lg.cost from lane_gates lg where lg.tenant_id = p_tenant and lg.lane_id = p_lane
  union
  select f.id, 1 from flow_limits f join queues q on q.tenant_id = f.tenant_id and q.id = p_queue
    where f.tenant_id = p_tenant and f.is_whole and (f.scope = 'tenant' or (f.scope = 'project' and f.project_id = q.project_id) or f.queue_id = q.id)
$f$;

-- Units that the bucket of a rate holds at an instant.
create function tokens_at(p_at timestamptz, full_at timestamptz, rate_count int, rate_ms bigint, rate_burst int) returns float8
language sql immutable as $f$
  select rate_burst - greatest(0, extract(epoch from full_at - p_at)::float8 * 1000 * rate_count / rate_ms)
$f$;

-- Lanes of a pool in which runs wait: of each tenant some, from a random place on and around, so that none is forgotten.
create function waiting_lanes(p_pool smallint) returns table (o_tenant uuid, o_queue uuid, o_lane uuid)
language plpgsql set enable_nestloop = on set enable_seqscan = off as $f$
declare
  v_tenants uuid[]; v_tenant uuid; v_from uuid; v_lane uuid; v_first uuid; v_queue uuid; v_left int;
begin
  with recursive t as (
    (select w.tenant_id from ready w where w.pool = p_pool + 1000 order by w.tenant_id limit 1)
    union all
    select n.tenant_id from t, lateral (
      select w.tenant_id from ready w where w.pool = p_pool + 1000 and w.tenant_id > t.tenant_id order by w.tenant_id limit 1) n)
  select array_agg(tenant_id) into v_tenants from t;
  foreach v_tenant in array coalesce(v_tenants, '{}') loop
    v_left := greatest(8, least(256, 2000 / cardinality(v_tenants)));
    v_from := gen_random_uuid();
    v_first := null;
    while v_left > 0 loop
      select w.lane, w.queue_id into v_lane, v_queue from ready w
        where w.tenant_id = v_tenant and w.lane > v_from and w.pool = p_pool + 1000 order by w.lane limit 1;
      if not found then
        select w.lane, w.queue_id into v_lane, v_queue from ready w
          where w.tenant_id = v_tenant and w.lane is not null and w.pool = p_pool + 1000 order by w.lane limit 1;
      end if;
      exit when not found or v_lane = v_first;
      v_first := coalesce(v_first, v_lane);
      v_from := v_lane;
      v_left := v_left - 1;
      o_tenant := v_tenant; o_queue := v_queue; o_lane := v_lane;
      return next;
    end loop;
  end loop;
end $f$;

-- Runs that all their gates let through, so that none of them could be over its limit if all of these were admitted. The
-- gates are locked in the order of their ids, and what is in use is counted behind that: a gate may lead to several pools.
create function gated_candidates(p_pool smallint, p_room int, p_tenant uuid[], p_queue uuid[], p_lane uuid[])
returns table (o_place tid, o_tenant uuid, o_queue uuid, o_priority smallint, o_due timestamptz)
language plpgsql set enable_nestloop = on set enable_seqscan = off as $f$
declare
  v_t uuid[]; v_q uuid[]; v_l uuid[];
begin
  -- Where runs with a lane wait, those without one take the same slots; and so where a whole limit holds.
  with x as (
    select t, q, l from unnest(p_tenant, p_queue, p_lane) u(t, q, l)
    union all
    select s.t, s.q, null::uuid from (
      select u.t, u.q from unnest(p_tenant, p_queue) u(t, q) union select l.tenant_id, l.queue_id from limits l where l.gated) s
    where exists (select from ready w where w.pool = p_pool and w.tenant_id = s.t and w.queue_id = s.q))
  select array_agg(t), array_agg(q), array_agg(l) into v_t, v_q, v_l from x;
  if v_t is null or p_room < 1 then return; end if;
  perform from gates g where (g.tenant_id, g.id) in (
      select u.t, n.gate_id from unnest(v_t, v_q, v_l) u(t, q, l) cross join lateral gates_of(u.t, u.q, u.l) n)
    order by g.tenant_id, g.id for update;
  return query
  with g as materialized (select * from unnest(v_t, v_q, v_l) with ordinality u(t, q, l, ord)),
  used as materialized (
    select h.tenant_id as t, h.project_id as p, h.queue_id as q, h.lane as l, count(*)::int as n, count(*) filter (where h.pool = p_pool)::int as here
    from held h where h.tenant_id = any(v_t) group by 1, 2, 3, 4),
  used_lanes as materialized (
    select lg.tenant_id as t, lg.gate_id, sum(u.n::bigint * lg.cost) as units from used u
    join lane_gates lg on lg.tenant_id = u.t and lg.lane_id = u.l group by 1, 2),
  need as materialized (select g.ord, g.t, n.gate_id, n.cost from g cross join lateral gates_of(g.t, g.q, g.l) n),
  gate as materialized (
    select x.t, x.gate_id, case when f.paused_at is not null then 0 else floor(least(
      coalesce(f.concurrency - case when f.is_whole
        then (select coalesce(sum(u.n), 0) from used u
          where u.t = x.t and (f.scope = 'tenant' or (f.scope = 'project' and u.p = f.project_id) or u.q = f.queue_id))
        else (select coalesce(sum(ul.units), 0) from used_lanes ul where ul.t = x.t and ul.gate_id = x.gate_id) end, 1000000),
      case when f.rate_count is null then 1000000
        else tokens_at(clock_timestamp(), gt.full_at, f.rate_count, f.rate_ms, f.rate_burst) end)) end as room
    from (select distinct need.t, need.gate_id from need) x
    join gates gt on gt.tenant_id = x.t and gt.id = x.gate_id
    join flow_limits f on f.tenant_id = x.t and f.id = gt.limit_id),
  narrowest as materialized (
    select n.ord, min(floor(gate.room / n.cost)) as runs from need n join gate on gate.t = n.t and gate.gate_id = n.gate_id group by 1),
  open as materialized (
    select g.*, coalesce(m.runs, p_room) as runs, ql.concurrency - coalesce(qu.n, 0) as qroom, coalesce(lu.n, 0) as un
    from g
    join limits ql on ql.tenant_id = g.t and ql.queue_id = g.q
    join limits tl on tl.tenant_id = g.t and tl.queue_id = '00000000-0000-0000-0000-000000000000'
    left join narrowest m on m.ord = g.ord
    left join lateral (select sum(u.n)::int as n from used u where u.t = g.t and u.q = g.q) qu on true
    left join lateral (select sum(u.n)::int as n from used u where u.t = g.t and u.q = g.q and u.l is not distinct from g.l) lu on true
    left join lateral (select sum(u.here)::int as n from used u where u.t = g.t) tu on true
    where not ql.paused and not tl.paused and coalesce(m.runs, 1) > 0 and coalesce(qu.n, 0) < ql.concurrency and coalesce(tu.n, 0) < tl.concurrency
    order by (coalesce(tu.n, 0) + row_number() over (partition by g.t order by coalesce(lu.n, 0), random())) / tl.weight limit 64),
  share as materialized (select open.t, count(*)::int as groups, (count(*) over ())::int as tenants from open group by 1),
  c as materialized (
    select o.ord, o.t, o.q, o.un, o.qroom, w.*
    from open o join share s on s.t = o.t
    cross join lateral (select greatest(0, least(p_room, 1 + (3 * p_room) / (2 * s.tenants * s.groups), o.qroom, o.runs))::int as n) k
    cross join lateral (
      (select w.ctid as place, w.id, w.priority, w.due_at, row_number() over (order by w.priority, w.due_at) as turn from ready w
        where o.l is not null and w.tenant_id = o.t and w.lane = o.l and w.pool = p_pool + 1000 order by w.priority, w.due_at limit k.n)
      union all
      (select w.ctid, w.id, w.priority, w.due_at, row_number() over (order by w.priority, w.due_at) from ready w
        where o.l is null and w.pool = p_pool and w.tenant_id = o.t and w.queue_id = o.q order by w.priority, w.due_at limit k.n)) w),
  -- Behind one that some other gate stops, the next look lets more through; but never one too many.
  asked as (
    select x.place, bool_and(x.units <= x.room) as passes from (
      select c.place, gate.room, sum(n.cost) over (partition by n.t, n.gate_id order by c.un + c.turn, c.priority, c.due_at, c.id
        rows unbounded preceding) as units
      from c join need n on n.ord = c.ord join gate on gate.t = n.t and gate.gate_id = n.gate_id) x
    group by 1),
  queued as (
    select c.*, row_number() over (partition by c.t, c.q order by c.un + c.turn, c.priority, c.due_at, c.id) as qturn
    from c left join asked a on a.place = c.place where coalesce(a.passes, true))
  select x.place, x.t, x.q, x.priority, x.due_at from queued x where x.qturn <= x.qroom;
end $f$;

-- The first of those that wait, job by job, where nothing of the job is open any more.
create or replace function release_waiting(p_pool smallint) returns void
language plpgsql set enable_nestloop = on as $f$
begin
  with recursive j as (
    (select w.tenant_id, w.job_id from due w where w.pool = -p_pool and w.pool < 0 order by w.tenant_id, w.job_id limit 1)
    union all
    select n.tenant_id, n.job_id from j, lateral (
      select w.tenant_id, w.job_id from due w
      where w.pool = -p_pool and w.pool < 0 and (w.tenant_id, w.job_id) > (j.tenant_id, j.job_id)
      order by w.tenant_id, w.job_id limit 1) n
  ),
  free as materialized (
    select f.place from j cross join lateral (
      select w.ctid as place from due w
      where w.pool = -p_pool and w.pool < 0 and w.tenant_id = j.tenant_id and w.job_id = j.job_id order by w.due_at, w.id limit 1) f
    where not exists (select from held h where h.tenant_id = j.tenant_id and h.job_id = j.job_id and not exists (
          select from backfills b where b.tenant_id = h.tenant_id and b.job_id = h.job_id and b.nominal_at = h.nominal_at and b.run_id = h.id offset 0) offset 0)
      and not exists (select from ready r where r.tenant_id = j.tenant_id and r.job_id = j.job_id and not exists (
          select from backfills b where b.tenant_id = r.tenant_id and b.job_id = r.job_id and b.nominal_at = r.nominal_at and b.run_id = r.id offset 0) offset 0)
      and not exists (select from due d where d.tenant_id = j.tenant_id and d.job_id = j.job_id and d.attempt > 0 and not exists (
          select from backfills b where b.tenant_id = d.tenant_id and b.job_id = d.job_id and b.nominal_at = d.nominal_at and b.run_id = d.id offset 0) offset 0)
  ),
  gone as (delete from due d where d.ctid = any(array(select place from free)) returning d.*),
  kept as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
    select case when lane is null then -pool else 1000 - pool end, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week,
      job_id, nominal_at, lane
    from gone
  )
  update occurrences o set outcome = 'run', decided_at = clock_timestamp() from gone g
    where o.tenant_id = g.tenant_id and o.job_id = g.job_id and o.nominal_at = g.nominal_at and o.outcome = 'pending';
end $f$;


-- due -> ready, with the overlap decision of each occurrence, and of each run by hand that asked for one:
--   0 skip: ends here as skipped while the job has an open run that started its way earlier.
--   1 allow.
--   2 queue-one: one may wait behind it, further ones are skipped.  3 queue-all: all of them wait.
--   4 cancel-running: what is open is cancelled.  5 replace: like 2, but the newest one is the one that waits.
-- Returns what was stopped while it was with an executor, which has to be told.
create or replace function promote_due(p_pool smallint, p_until timestamptz, p_limit int)
returns table (s_tenant uuid, s_queue uuid, s_id uuid, s_fence int)
language plpgsql set enable_nestloop = on as $f$
#variable_conflict use_column
declare
  v_waits boolean := exists (select from due where pool = -p_pool and pool < 0);
begin
  return query
  with c as materialized (
    select d.ctid as place, d.tenant_id, d.job_id, d.due_at, d.id, d.nominal_at, d.overlap, d.attempt
    from due d where d.pool = p_pool and d.due_at <= p_until order by d.due_at limit p_limit
  ),
  occurrence as materialized (
    select c.*, row_number() over (partition by tenant_id, job_id order by due_at, id) as turn,
      count(*) over (partition by tenant_id, job_id) as turns
    from c where job_id is not null and case when nominal_at is null then overlap <> 1 and attempt = 0
      -- A retry kept its decision: its occurrence is not pending any more.
      else exists (select from occurrences o where o.tenant_id = c.tenant_id and o.job_id = c.job_id
        and o.nominal_at = c.nominal_at and o.outcome = 'pending' offset 0) end
  ),
  seen as materialized (
    select x.*,
      x.overlap <> 1 and (x.turn = 1 or x.overlap > 1) and (
        exists (select from held h where h.tenant_id = x.tenant_id and h.job_id = x.job_id and not exists (
          select from backfills b where b.tenant_id = h.tenant_id and b.job_id = h.job_id and b.nominal_at = h.nominal_at and b.run_id = h.id offset 0) offset 0)
        or exists (select from ready r where r.tenant_id = x.tenant_id and r.job_id = x.job_id and not exists (
          select from backfills b where b.tenant_id = r.tenant_id and b.job_id = r.job_id and b.nominal_at = r.nominal_at and b.run_id = r.id offset 0) offset 0)
        or exists (select from due d where d.tenant_id = x.tenant_id and d.job_id = x.job_id and d.attempt > 0 and not exists (
          select from backfills b where b.tenant_id = d.tenant_id and b.job_id = d.job_id and b.nominal_at = d.nominal_at and b.run_id = d.id offset 0) offset 0)) as busy,
      x.overlap <> 1 and v_waits and exists (select from due d where d.pool = -p_pool and d.pool < 0
        and d.tenant_id = x.tenant_id and d.job_id = x.job_id offset 0) as queued
    from occurrence x
  ),
  fate as materialized (
    select s.*, case
      when s.overlap = 1 then 'go'
      when s.overlap = 4 then case when s.turn = s.turns then 'go' else 'skip' end
      when s.turn = 1 and not s.busy and not s.queued then 'go'
      when s.overlap = 3 then 'wait'
      when s.overlap = 2 and not s.queued and s.turn = case when s.busy then 1 else 2 end then 'wait'
      when s.overlap = 5 and s.turn = s.turns then 'wait'
      else 'skip' end as fate
    from seen s
  ),
  -- Whose place the newest takes: all that is open, or what has waited.
  displaced as materialized (
    select distinct tenant_id, job_id, overlap from fate where overlap = 4 and (busy or queued) or overlap = 5 and queued
  ),
  stays as materialized (
    select place from fate where fate = 'wait'
    union all
    select c.place from c join displaced x on x.overlap = 4 and x.tenant_id = c.tenant_id and x.job_id = c.job_id where c.attempt > 0
      and not exists (
          select from backfills b where b.tenant_id = c.tenant_id and b.job_id = c.job_id and b.nominal_at = c.nominal_at and b.run_id = c.id offset 0)
  ),
  waits as (
    update due d set pool = -d.pool where d.ctid = any(array(select place from fate where fate = 'wait'))
  ),
  gone as (
    delete from due d where d.ctid = any(array(select place from c where place not in (select place from stays)))
    returning d.*, d.ctid as place
  ),
  kept as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
    select case when lane is null then pool else pool + 1000 end, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week,
      job_id, nominal_at, lane
    from gone where place not in (select place from fate where fate = 'skip')
  ),
  stopped as (
    delete from held h using displaced x where x.overlap = 4 and h.tenant_id = x.tenant_id and h.job_id = x.job_id
      and not exists (
          select from backfills b where b.tenant_id = h.tenant_id and b.job_id = h.job_id and b.nominal_at = h.nominal_at and b.run_id = h.id offset 0) returning h.*
  ),
  unready as (
    delete from ready r using displaced x where x.overlap = 4 and r.tenant_id = x.tenant_id and r.job_id = x.job_id
      and not exists (
          select from backfills b where b.tenant_id = r.tenant_id and b.job_id = r.job_id and b.nominal_at = r.nominal_at and b.run_id = r.id offset 0) returning r.*
  ),
  undue as (
    delete from due d using displaced x
    where d.tenant_id = x.tenant_id and d.job_id = x.job_id and (d.pool < 0 or x.overlap = 4 and d.attempt > 0)
      and not exists (
          select from backfills b where b.tenant_id = d.tenant_id and b.job_id = d.job_id and b.nominal_at = d.nominal_at and b.run_id = d.id offset 0)
    returning d.*
  ),
  ended as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at, duration_ms, error,
      job_id, nominal_at, executor_id)
    select tenant_id, project_id, id, queue_id, abs(pool) % 1000, state, attempt, fence, due_at, since, clock_timestamp(),
      (extract(epoch from clock_timestamp() - since) * 1000)::int, 'overlap', job_id, nominal_at, executor_id
    from (
      select tenant_id, project_id, id, queue_id, pool, 8 as state, attempt, fence, due_at, null::timestamptz as since, job_id, nominal_at,
        null::uuid as executor_id
      from gone where place in (select place from fate where fate = 'skip')
      union all
      select tenant_id, project_id, id, queue_id, pool, case when attempt = 0 then 8 else 6 end, attempt, fence, due_at, null, job_id,
        nominal_at, null from undue
      union all
      select tenant_id, project_id, id, queue_id, pool, 6, attempt, fence, due_at, null, job_id, nominal_at, null from unready
      union all
      select tenant_id, project_id, id, queue_id, pool, 6, attempt, fence, due_at, case when state = 3 then since end, job_id, nominal_at,
        executor_id from stopped) x
    returning tenant_id, project_id, id, job_id, state
  ),
  told as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, case when state = 8 then 'run.skipped' else 'run.cancelled' end, id, job_id, '{"reason": "overlap"}'
    from ended
  ),
  decided as (
    update occurrences o set outcome = x.outcome, reason = x.reason, decided_at = clock_timestamp()
    from (
      select tenant_id, job_id, nominal_at, case when fate = 'go' then 'run' else 'skipped' end as outcome,
        case when fate = 'go' then null else 'overlap' end as reason
      from fate where fate <> 'wait' and nominal_at is not null
      union all
      select tenant_id, job_id, nominal_at, 'skipped', 'overlap' from undue where attempt = 0 and nominal_at is not null) x
    where o.tenant_id = x.tenant_id and o.job_id = x.job_id and o.nominal_at = x.nominal_at and o.outcome = 'pending'
  )
  select tenant_id, queue_id, id, fence from stopped where state = 3;
end $f$;

-- Admits up to p_batch runs of a pool, so that at most p_cap are held. Whoever gets the lock dispatches; nobody
-- owns it. First every run that is due within p_ahead_ms gets its overlap decision and moves to ready; then slots
-- are given, lowest slots-in-use / weight first among tenants, then by priority and due instant. Slots are
-- counted from live rows. With less than p_room_min slots free it leaves the rest to the next look.
-- Runs that mind a limit of their own are asked for first, and then stand in line with the others.
-- Those that wait for an earlier run of their job are looked at first. A row without a due instant is a run to be stopped.
create or replace function admit_runs(p_pool smallint, p_batch int, p_cap int, p_ahead_ms float8, p_queued_seconds float8, p_room_min int)
returns table (o_tenant uuid, o_queue uuid, o_id uuid, o_fence int, o_due_ms float8, o_week date)
language plpgsql set enable_nestloop = off as $f$
#variable_conflict use_column
declare
  v_until timestamptz; v_gated boolean;
  -- Lanes in which runs wait, and the runs that their gates let through.
  l_tenant uuid[]; l_queue uuid[] := '{}'; l_lane uuid[];
  g_place tid[]; g_tenant uuid[]; g_queue uuid[]; g_priority smallint[]; g_due timestamptz[];
begin
  if not pg_try_advisory_xact_lock(42, p_pool) then return; end if;
  v_until := clock_timestamp() + p_ahead_ms * interval '1 millisecond';
  if exists (select from due where pool = -p_pool and pool < 0) then perform release_waiting(p_pool); end if;
  if exists (select from due where pool = p_pool and due_at <= v_until) then
    return query select s_tenant, s_queue, s_id, s_fence, null::float8, null::date from promote_due(p_pool, v_until, 2 * p_batch);
  end if;
  v_gated := exists (select from ready where pool = p_pool + 1000);
  if not v_gated and not exists (select from ready where pool = p_pool) then return; end if;
  if v_gated then
    select array_agg(o_tenant), coalesce(array_agg(o_queue), '{}'), array_agg(o_lane) into l_tenant, l_queue, l_lane from waiting_lanes(p_pool);
  end if;
  v_gated := v_gated or exists (select from limits where gated);
  if v_gated then
    select array_agg(c.o_place), array_agg(c.o_tenant), array_agg(c.o_queue), array_agg(c.o_priority), array_agg(c.o_due)
      into g_place, g_tenant, g_queue, g_priority, g_due
      from gated_candidates(p_pool, least(p_batch, p_cap - (select count(*)::int from held where pool = p_pool)), l_tenant, l_queue, l_lane) c;
  end if;
  return query
  with recursive
  used as materialized (
    select h.tenant_id, h.queue_id, count(*)::int n from held h where h.pool = p_pool group by 1, 2),
  -- Where slots come free by the thousand, one here and there is not worth a walk over all queues.
  room as materialized (
    select least(p_cap - free.used, p_batch) n from (select coalesce(sum(n), 0)::int used from used) free
    where p_cap - free.used >= greatest(1, p_room_min)),
  q as (
    (select w.tenant_id, w.queue_id from room, ready w where w.pool = p_pool order by w.tenant_id, w.queue_id limit 1)
    union all
    select n.tenant_id, n.queue_id from q, lateral (
      select w.tenant_id, w.queue_id from ready w
      where w.pool = p_pool and (w.tenant_id, w.queue_id) > (q.tenant_id, q.queue_id)
      order by w.tenant_id, w.queue_id limit 1) n
  ),
  tused as materialized (select tenant_id, sum(n)::int n from used group by 1),
  -- A tenant's second queue stands behind every tenant's first, so that many queues give nobody more than one does.
  open as materialized (
    select q.*, coalesce(u.n, 0) un, coalesce(tu.n, 0) tn, ql.concurrency qmax, tl.concurrency tmax, tl.weight
    from q
    join limits ql on ql.tenant_id = q.tenant_id and ql.queue_id = q.queue_id
    join limits tl on tl.tenant_id = q.tenant_id and tl.queue_id = '00000000-0000-0000-0000-000000000000'
    left join used u on u.tenant_id = q.tenant_id and u.queue_id = q.queue_id
    left join tused tu on tu.tenant_id = q.tenant_id
    where not ql.paused and not ql.gated and q.queue_id <> all(l_queue) and not tl.paused and coalesce(u.n, 0) < ql.concurrency and coalesce(tu.n, 0) < tl.concurrency
    order by (coalesce(tu.n, 0) + row_number() over (partition by q.tenant_id order by coalesce(u.n, 0), random())) / tl.weight limit 64
  ),
  share as materialized (select tenant_id, count(*)::int queues, (count(*) over ())::int tenants from open group by tenant_id),
  candidates as (
    select x.*, row_number() over (partition by tenant_id order by priority, due_at) + tn as rank
    from (
    select c.*, o.tenant_id, o.tn, o.tmax, o.weight
    from open o join share s on s.tenant_id = o.tenant_id cross join room cross join lateral (
      select w.ctid as place, w.priority, w.due_at from ready w
      where w.pool = p_pool and w.tenant_id = o.tenant_id and w.queue_id = o.queue_id
      order by w.priority, w.due_at
      limit greatest(0, least(room.n, 1 + (3 * room.n) / (2 * s.tenants * s.queues), o.qmax - o.un))) c
    union all
    select g.place, g.priority, g.due, g.tenant_id, coalesce(tu.n, 0), tl.concurrency, tl.weight
    from unnest(g_place, g_tenant, g_priority, g_due) g(place, tenant_id, priority, due)
    join limits tl on tl.tenant_id = g.tenant_id and tl.queue_id = '00000000-0000-0000-0000-000000000000'
    left join tused tu on tu.tenant_id = g.tenant_id) x
  ),
  pick as materialized (
    select place from candidates where rank <= tmax order by rank / weight, priority, due_at limit (select n from room)),
  gone as (delete from ready w where w.ctid = any(array(select place from pick)) returning w.*),
  taken as (
    insert into held (pool, tenant_id, queue_id, id, project_id, state, priority, attempt, attempts_max, fence, due_at,
      keep_week, job_id, nominal_at, lane, since, lease_until, epoch)
    select p_pool, g.tenant_id, g.queue_id, g.id, g.project_id, 2, g.priority, g.attempt, g.attempts_max, g.fence + 1, g.due_at,
      g.keep_week, g.job_id, g.nominal_at, g.lane, clock_timestamp(), clock_timestamp() + p_queued_seconds * interval '1 second',
      (select s.epoch from shards s join pools p on p.shard_id = s.id where p.id = p_pool)
    from gone g
    returning tenant_id, queue_id, id, fence, due_at, keep_week, lane
  ),
  spent as (
    update gates g set full_at = greatest(g.full_at, clock_timestamp()) + u.units * f.rate_ms / f.rate_count * interval '1 millisecond'
    from (
      select t.tenant_id, n.gate_id, sum(t.runs * n.cost) as units
      from (select tenant_id, queue_id, lane, count(*) as runs from taken where v_gated group by 1, 2, 3) t
      cross join lateral gates_of(t.tenant_id, t.queue_id, t.lane) n group by 1, 2) u
    join flow_limits f on f.tenant_id = u.tenant_id and f.rate_count is not null
    where g.tenant_id = u.tenant_id and g.id = u.gate_id and g.limit_id = f.id
  )
  select t.tenant_id, t.queue_id, t.id, t.fence, round(extract(epoch from t.due_at)::float8 * 1000), t.keep_week
  from taken t order by t.due_at;
end $f$;

-- Makes sure of lanes and their gates. What was seen within the hour is never forgotten, so no row that somebody is about to
-- use is taken from under them.
create function ensure_lanes(p_tenant uuid[], p_lane uuid[], p_gate uuid[], p_limit uuid[], p_key text[], p_cost int[]) returns void
language plpgsql as $f$
begin
  update lanes l set seen_at = clock_timestamp() from (select distinct t, l from unnest(p_tenant, p_lane) u(t, l)) u
    where l.tenant_id = u.t and l.id = u.l and l.seen_at < clock_timestamp() - interval '1 hour';
  update gates g set seen_at = clock_timestamp() from (select distinct t, g from unnest(p_tenant, p_gate) u(t, g)) u
    where g.tenant_id = u.t and g.id = u.g and g.seen_at < clock_timestamp() - interval '1 hour';
  insert into gates (tenant_id, id, limit_id, key)
    select distinct u.t, u.g, u.l, u.k from unnest(p_tenant, p_gate, p_limit, p_key) u(t, g, l, k)
    join flow_limits f on f.tenant_id = u.t and f.id = u.l order by 1, 2 on conflict do nothing;
  insert into lanes (tenant_id, id) select distinct t, l from unnest(p_tenant, p_lane) u(t, l) order by 1, 2 on conflict do nothing;
  insert into lane_gates (tenant_id, lane_id, gate_id, cost)
    select distinct u.t, u.l, u.g, u.c from unnest(p_tenant, p_lane, p_gate, p_cost) u(t, l, g, c)
    join gates on gates.tenant_id = u.t and gates.id = u.g order by 1, 2, 3 on conflict do nothing;
end $f$;

-- How many runs wait before a gate; counting stops at p_most.
create function waiting_at(p_tenant uuid, p_gate uuid, p_most int) returns int
language sql stable set enable_nestloop = on as $f$
  select count(*)::int from (
    select w.n from lane_gates lg cross join lateral (
      select 1 as n from ready w where w.tenant_id = p_tenant and w.lane = lg.lane_id
      union all select 1 from due d where d.tenant_id = p_tenant and d.lane = lg.lane_id) w
    where lg.tenant_id = p_tenant and lg.gate_id = p_gate limit p_most) x
$f$;

-- accept_within, or with details accept_detailed, for flushes in which some run minds a limit of its own: p_lane says which
-- lane it takes, and the last six what lanes there are. Answers 6 for a run that found the backlog full.
create function accept_limited(
  p_tenant uuid[], p_project uuid[], p_id uuid[], p_queue uuid[], p_priority int2[], p_attempts_max int2[],
  p_due_ms float8[], p_block uuid[], p_offset int[], p_source int2[], p_job uuid[], p_job_version int[], p_replay_of uuid[],
  p_key text[], p_fingerprint text[], p_actor text[], p_request text[], p_batch boolean, p_digest text,
  p_block_tenant uuid[], p_block_id uuid[], p_block_sealed bytea[], p_overlap int2, p_start_ms float8[], p_end_ms float8[], p_details jsonb,
  p_lane uuid[], g_tenant uuid[], g_lane uuid[], g_gate uuid[], g_limit uuid[], g_key text[], g_cost int[])
returns table (o int, outcome int, run_id uuid, due_ms float8, created_ms float8, is_ready boolean)
language plpgsql security definer set search_path = public, pg_temp set enable_nestloop = on as $f$
#variable_conflict use_column
declare
  v_kept int[] := array(select n from generate_subscripts(p_id, 1) n order by n);
  v_refused int[] := '{}'; v_over record;
  r_o int[]; r_outcome int[]; r_id uuid[]; r_due float8[]; r_created float8[]; r_ready boolean[];
begin
  perform ensure_lanes(g_tenant, g_lane, g_gate, g_limit, g_key, g_cost);
  -- Whoever adds to a backlog counts it alone.
  perform from gates g join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id and f.backlog_max is not null
    where (g.tenant_id, g.id) in (select t, i from unnest(g_tenant, g_gate) u(t, i)) order by g.tenant_id, g.id for update of g;
  if found then
    select coalesce(array_agg(distinct x.n), '{}') into v_refused from (
      select r.n::int as n, row_number() over (partition by b.t, b.gate order by r.n) > b.room as is_over
      from (
        select distinct g.tenant_id as t, g.id as gate, f.backlog_max - waiting_at(g.tenant_id, g.id, f.backlog_max) as room
        from unnest(g_tenant, g_gate) u(t, i) join gates g on g.tenant_id = u.t and g.id = u.i
        join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id and f.when_full = 'reject') b
      join unnest(g_tenant, g_lane, g_gate) d(t, l, g) on d.t = b.t and d.g = b.gate
      join unnest(p_tenant, p_lane, p_project, p_key) with ordinality r(t, l, p, k, n) on r.t = d.t and r.l = d.l
      -- A request that is made again, or that a key leads to an earlier run, adds nothing.
      where not exists (select from idempotency_keys i where i.tenant_id = r.t and i.project_id = r.p and i.key = r.k)
        and not exists (
          select from run_keys k where k.tenant_id = r.t and k.scope_id = (p_details->(r.n::int - 1)->'key'->>'scope')::uuid
            and k.kind = p_details->(r.n::int - 1)->'key'->>'kind' and k.key = p_details->(r.n::int - 1)->'key'->>'key'
            and k.expires_at > clock_timestamp())) x
    where x.is_over;
  end if;
  v_kept := array(select n from unnest(v_kept) n where n <> all(v_refused) order by n);
  if cardinality(v_kept) > 0 then
    with a as materialized (
      select x.* from accept_within(
        array(select p_tenant[n] from unnest(v_kept) n), array(select p_project[n] from unnest(v_kept) n), array(select p_id[n] from unnest(v_kept) n),
        array(select p_queue[n] from unnest(v_kept) n), array(select p_priority[n] from unnest(v_kept) n), array(select p_attempts_max[n] from unnest(v_kept) n),
        array(select p_due_ms[n] from unnest(v_kept) n), array(select p_block[n] from unnest(v_kept) n), array(select p_offset[n] from unnest(v_kept) n),
        array(select p_source[n] from unnest(v_kept) n), array(select p_job[n] from unnest(v_kept) n), array(select p_job_version[n] from unnest(v_kept) n),
        array(select p_replay_of[n] from unnest(v_kept) n), array(select p_key[n] from unnest(v_kept) n), array(select p_fingerprint[n] from unnest(v_kept) n),
        array(select p_actor[n] from unnest(v_kept) n), array(select p_request[n] from unnest(v_kept) n), p_batch, p_digest,
        p_block_tenant, p_block_id, p_block_sealed, p_overlap, array(select p_start_ms[n] from unnest(v_kept) n), array(select p_end_ms[n] from unnest(v_kept) n)) x where p_details is null
      union all
      select x.* from accept_detailed(
        array(select p_tenant[n] from unnest(v_kept) n), array(select p_project[n] from unnest(v_kept) n), array(select p_id[n] from unnest(v_kept) n),
        array(select p_queue[n] from unnest(v_kept) n), array(select p_priority[n] from unnest(v_kept) n), array(select p_attempts_max[n] from unnest(v_kept) n),
        array(select p_due_ms[n] from unnest(v_kept) n), array(select p_block[n] from unnest(v_kept) n), array(select p_offset[n] from unnest(v_kept) n),
        array(select p_source[n] from unnest(v_kept) n), array(select p_job[n] from unnest(v_kept) n), array(select p_job_version[n] from unnest(v_kept) n),
        array(select p_replay_of[n] from unnest(v_kept) n), array(select p_key[n] from unnest(v_kept) n), array(select p_fingerprint[n] from unnest(v_kept) n),
        array(select p_actor[n] from unnest(v_kept) n), array(select p_request[n] from unnest(v_kept) n), p_batch, p_digest,
        p_block_tenant, p_block_id, p_block_sealed, p_overlap, array(select p_start_ms[n] from unnest(v_kept) n), array(select p_end_ms[n] from unnest(v_kept) n),
        (select jsonb_agg(p_details->(n - 1) order by n) from unnest(v_kept) n)) x where p_details is not null)
    select array_agg(v_kept[a.o]), array_agg(a.outcome), array_agg(a.run_id), array_agg(a.due_ms), array_agg(a.created_ms), array_agg(a.is_ready)
      into r_o, r_outcome, r_id, r_due, r_created, r_ready from a;
  end if;
  update ready w set lane = p_lane[u.n], pool = case when w.pool > 0 then w.pool + 1000 else w.pool end from unnest(r_o, r_outcome, r_id) u(n, c, i)
    where u.c = 0 and p_lane[u.n] is not null and w.tenant_id = p_tenant[u.n] and w.id = u.i;
  -- A run that waits under the key of this row does by now what this row asks for.
  update due d set lane = p_lane[u.n] from unnest(r_o, r_outcome, r_id) u(n, c, i)
    where u.c in (0, 5) and d.lane is distinct from p_lane[u.n] and d.tenant_id = p_tenant[u.n] and d.id = u.i;
  for v_over in
    select distinct g.tenant_id as t, g.id as gate, f.backlog_max as most
    from unnest(g_tenant, g_gate) u(t, i) join gates g on g.tenant_id = u.t and g.id = u.i
    join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id and f.when_full = 'drop-oldest'
  loop
    perform drop_oldest(v_over.t, v_over.gate, v_over.most);
  end loop;
  return query
    select n, c, i, d, r, y from unnest(r_o, r_outcome, r_id, r_due, r_created, r_ready) x(n, c, i, d, r, y)
    union all select n, 6, null::uuid, null::float8, null::float8, false from unnest(v_refused) n;
end $f$;

-- Ends those that have waited longest before a gate, so that p_most are left.
create function drop_oldest(p_tenant uuid, p_gate uuid, p_most int) returns void
language plpgsql set enable_nestloop = on as $f$
declare
  v_over int := waiting_at(p_tenant, p_gate, 2000000000) - p_most;
begin
  if v_over <= 0 then return; end if;
  with old as materialized (
    select x.id from (
      select w.id, w.due_at from lane_gates lg join ready w on w.tenant_id = p_tenant and w.lane = lg.lane_id
        where lg.tenant_id = p_tenant and lg.gate_id = p_gate
      union all
      select d.id, d.due_at from lane_gates lg join due d on d.tenant_id = p_tenant and d.lane = lg.lane_id
        where lg.tenant_id = p_tenant and lg.gate_id = p_gate) x
    order by x.due_at, x.id limit v_over),
  w as (delete from ready w using old where w.tenant_id = p_tenant and w.id = old.id
    returning w.project_id, w.id, w.queue_id, w.pool, w.attempt, w.fence, w.due_at, w.job_id, w.nominal_at),
  d as (delete from due d using old where d.tenant_id = p_tenant and d.id = old.id
    returning d.project_id, d.id, d.queue_id, d.pool, d.attempt, d.fence, d.due_at, d.job_id, d.nominal_at),
  ended as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, error, job_id, nominal_at)
    select p_tenant, project_id, id, queue_id, abs(pool) % 1000, 8, attempt, fence, due_at, clock_timestamp(), 'backlog', job_id, nominal_at
    from (select * from w union all select * from d) x returning project_id, id, job_id, nominal_at),
  o as (
    update occurrences o set outcome = 'skipped', reason = 'backlog', decided_at = clock_timestamp() from ended e
    where o.tenant_id = p_tenant and o.job_id = e.job_id and o.nominal_at = e.nominal_at and o.outcome = 'pending')
  insert into events (tenant_id, project_id, type, subject, job_id, data)
    select p_tenant, project_id, 'run.skipped', id, job_id, '{"reason": "backlog"}' from ended;
end $f$;

-- Forgets lanes and gates that nobody waits in or has asked for since a day, at most p_limit of each.
create function forget_lanes(p_limit int) returns int
language plpgsql set enable_nestloop = on as $f$
declare
  v_gone int; v_gates int;
begin
  delete from lanes l where (l.tenant_id, l.id) in (
      select x.tenant_id, x.id from lanes x where x.seen_at < (select clock_timestamp() - interval '1 day')
        and not exists (select from ready w where w.tenant_id = x.tenant_id and w.lane = x.id)
        and not exists (select from due d where d.tenant_id = x.tenant_id and d.lane = x.id)
        and not exists (select from held h where h.tenant_id = x.tenant_id and h.lane = x.id) limit p_limit)
    and l.seen_at < clock_timestamp() - interval '1 day';
  get diagnostics v_gone = row_count;
  delete from gates g where (g.tenant_id, g.id) in (
      select x.tenant_id, x.id from gates x where x.id <> x.limit_id and x.seen_at < (select clock_timestamp() - interval '1 day')
        and x.full_at < (select clock_timestamp())
        and not exists (select from lane_gates lg where lg.tenant_id = x.tenant_id and lg.gate_id = x.id) limit p_limit)
    and g.seen_at < clock_timestamp() - interval '1 day';
  get diagnostics v_gates = row_count;
  return v_gone + v_gates;
end $f$;

-- Asks for runs that an executor has claimed and not begun whether they may call their host. Those that may not go back
-- to wait, and their attempt is not counted. Verdicts: 0 goes, 1 held, 2 not found as claimed (taken away, or touched this
-- very moment), 3 goes as the probe.
create or replace function hold_runs(p_pool smallint, p_tenant uuid[], p_queue uuid[], p_id uuid[], p_fence int[], p_host text[])
returns table (o int, verdict smallint)
language plpgsql set enable_nestloop = on as $f$
#variable_conflict use_column
begin
  -- Nobody may close a breaker between the look at it and the holding.
  perform from breakers b
    where b.state <> 'closed' and (b.tenant_id, b.host) in (select t, h from unnest(p_tenant, p_host) u(t, h))
    order by b.tenant_id, b.host for share;
  return query
  with x as materialized (
    select u.*, k.place, k.due_at, case
      when b.state is null then 0
      when k.place is null then 2
      when b.probe_run = u.i then 3
      when (k.due_at, u.i) <= (b.passed_at, b.passed_id) then 0
      else 1 end::smallint as fate
    from unnest(p_tenant, p_queue, p_id, p_fence, p_host) with ordinality u(t, q, i, f, h, n)
    left join lateral (select b.state, b.probe_run, b.passed_at, b.passed_id from breakers b
      where b.tenant_id = u.t and b.host = u.h and b.state <> 'closed' offset 0) b on true
    left join lateral (select h.ctid as place, h.due_at from held h
      where h.pool = p_pool and h.tenant_id = u.t and h.queue_id = u.q and h.id = u.i and h.fence = u.f and h.state + 0 = 3 offset 0) k on true
  ),
  gone as (
    delete from held h using x where x.fate = 1 and h.ctid = x.place and h.state + 0 = 3 and h.fence = x.f
    returning h.*, x.h as host, x.n
  ),
  waits as (
    insert into breaker_waits (tenant_id, host, due_at, run_id, queue_id, pool, since)
    select tenant_id, host, due_at, id, queue_id, pool, clock_timestamp() from gone
    on conflict do nothing
  ),
  kept as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
    select -pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt - 1, attempts_max, fence, keep_week, job_id, nominal_at, lane
    from gone
  ),
  told as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, 'run.held', id, job_id, jsonb_build_object('host', host) from gone
  )
  select x.n::int, case when x.fate = 1 and g.n is null then 2::smallint else x.fate end
  from x left join gone g on g.n = x.n;
end $f$;

-- Lets go what may go: a probe of each open breaker whose time has come, the next of each one that is draining, so many a
-- second, twice as many each second; closes those that hold nothing any more. One caller at a time works.
create or replace function release_held(p_pace float8, p_batch int)
returns table (r_pool smallint, r_count int)
language plpgsql set enable_nestloop = on as $f$
#variable_conflict use_column
declare
  b breakers; v_now timestamptz; v_count int;
begin
  if not exists (select from breakers where state <> 'closed') then return; end if;
  if not pg_try_advisory_xact_lock(43, 0) then return; end if;
  for b in select * from breakers where state <> 'closed' order by tenant_id, host limit 1000 for update loop
    v_now := clock_timestamp();
    -- The run of a probe tells how it went. One that ended without a word, or waits for its next try, tells nothing.
    if b.probe_run is not null and not exists (select from ready r where r.tenant_id = b.tenant_id and r.id = b.probe_run)
      and not exists (select from held h where h.pool = b.probe_pool and h.tenant_id = b.tenant_id and h.queue_id = b.probe_queue and h.id = b.probe_run)
    then
      b.probe_run := null;
    end if;
    v_count := case
      when b.probe_run is not null or b.probe_at > v_now or b.state = 'open' and b.probe_at is null then 0
      when b.state = 'open' then 1
      else least(p_batch, ceil(p_pace * power(2, least(extract(epoch from v_now - b.since)::float8, 20))
        * extract(epoch from v_now - b.paced_at)::float8)) end;
    continue when v_count = 0;
    -- Runs that were cancelled while they waited are passed over.
    delete from breaker_waits x where x.ctid = any(array(
      select y.ctid from (select ctid, * from breaker_waits where tenant_id = b.tenant_id and host = b.host order by due_at, run_id limit v_count + 1000) y
      where not exists (select from ready r where r.tenant_id = y.tenant_id and r.id = y.run_id and r.pool = -y.pool offset 0)));
    if exists (select from breaker_waits where tenant_id = b.tenant_id and host = b.host) then
      return query
      with next as materialized (
        select * from breaker_waits where tenant_id = b.tenant_id and host = b.host order by due_at, run_id limit v_count),
      gone as (
        delete from breaker_waits x using next n
        where x.tenant_id = n.tenant_id and x.host = n.host and x.due_at = n.due_at and x.run_id = n.run_id),
      let_go as (
        update ready r set pool = n.pool + case when r.lane is null then 0 else 1000 end from next n
        where r.tenant_id = n.tenant_id and r.id = n.run_id and r.pool = -n.pool
        returning n.pool),
      last as (select * from next order by due_at desc, run_id desc limit 1),
      moved as (
        update breakers x set paced_at = v_now,
          passed_at = case when b.state = 'draining' then l.due_at end, passed_id = case when b.state = 'draining' then l.run_id end,
          probe_run = case when b.state = 'open' then l.run_id end, probe_pool = l.pool, probe_queue = l.queue_id
        from last l where x.tenant_id = b.tenant_id and x.host = b.host)
      select pool, count(*)::int from let_go group by pool;
    elsif b.state = 'draining' or b.probe_at < v_now - interval '10 minutes' then
      update breakers x set state = 'closed', since = v_now, closed_at = v_now, probe_run = null, probe_at = null,
          passed_at = null, passed_id = null
        where x.tenant_id = b.tenant_id and x.host = b.host;
      insert into events (tenant_id, project_id, type, subject, data)
        values (b.tenant_id, b.project_id, 'breaker.closed', b.id, jsonb_build_object('host', b.host, 'openedAt', b.opened_at));
    elsif b.probe_run is null then
      -- What comes next is its probe.
      update breakers x set probe_run = null where x.tenant_id = b.tenant_id and x.host = b.host and x.probe_run is not null;
    end if;
  end loop;
end $f$;

-- Walls -------------------------------------------------------------------------------------------------------

do $$
declare t text; f text;
begin
  foreach t in array array['flow_limits', 'gates', 'lanes', 'lane_gates'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy app on %I to meridian_app using (tenant_id = (select current_tenant())) with check (tenant_id = (select current_tenant()))', t);
    execute format('create policy engine on %I to meridian_engine using (true) with check (true)', t);
    execute format('create policy owner on %I to %I using (true) with check (true)', t, current_user);
    execute format('grant select on %I to meridian_app, meridian_engine', t);
  end loop;
  foreach f in array array['waiting_lanes(smallint)', 'gated_candidates(smallint,int,uuid[],uuid[],uuid[])',
    'ensure_lanes(uuid[],uuid[],uuid[],uuid[],text[],int[])', 'drop_oldest(uuid,uuid,int)', 'forget_lanes(int)'] loop
    execute format('revoke execute on function %s from public', f);
    execute format('grant execute on function %s to meridian_engine', f);
  end loop;
  execute 'grant create on schema public to meridian_engine';
  alter function accept_limited owner to meridian_engine;
  revoke execute on function accept_limited from public;
  grant execute on function accept_limited to meridian_app;
  execute 'revoke create on schema public from meridian_engine';
end $$;
grant insert, update, delete on flow_limits to meridian_app;
grant insert on gates to meridian_app;
grant insert, update, delete on gates, lanes, lane_gates to meridian_engine;
