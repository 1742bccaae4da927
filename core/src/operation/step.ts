import { actorOf } from '../access/audit.ts'
import { arrayLiteral, isRetryable, isUnavailable, type Pool, runNamed, textArrayLiteral } from '../db/client.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import type { Clock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Outcome, StepItem } from './kind.ts'
import { kindOf } from './kinds.ts'
import { itemStates } from './operation.ts'

export interface StepMeans {
  engine: Pool
  keyRing: KeyRing
  clock: Clock
  shard: number
}

export interface Step {
  operationId: Uuid
  kind: string
  items: number
  /** Pools whose dispatchers should look now. */
  wakes: Set<number>
  /** What went wrong beyond what a kind expects; the items count as failed. */
  broken: { item: string; error: unknown }[]
}

/** A step is short, so that a pause never waits for long and a killed worker loses little. */
const itemsPerStep = 100
const stepMs = 200
/** How long to leave an operation alone whose kind has no room for more. */
const noRoomSeconds = 0.1
/** How often an operation that is under way tells of its progress. */
const tellSeconds = 1

type Candidate = [tenantId: Uuid, projectId: Uuid, id: Uuid, kind: string, actor: string]

// One operation a tenant, the tenant that was served longest ago first, however many operations another has.
const candidatesStatement = `
  with recursive tenant as (
    (select tenant_id from operations where shard_id = $1 and state = 'running' order by tenant_id limit 1)
    union all
    select n.tenant_id from tenant t, lateral (
      select tenant_id from operations where shard_id = $1 and state = 'running' and tenant_id > t.tenant_id order by tenant_id limit 1) n)
  select o.tenant_id, o.project_id, o.id, o.kind, o.actor from tenant t
  cross join lateral (
    select o.*, max(o.stepped_at) over () as served_at from operations o
    where o.shard_id = $1 and o.state = 'running' and o.tenant_id = t.tenant_id) o
  where o.next_at <= (select clock_timestamp())
  order by o.served_at nulls first, o.next_at limit 20`

/**
 * Takes one step of one operation, in one transaction: some items, their outcomes, and the progress. Whoever dies in it
 * leaves nothing behind. Any number of workers may call it at once; an operation is one worker's at a time. Null when
 * nothing is to be done now.
 */
export async function stepOperation(means: StepMeans): Promise<Step | null> {
  const { engine, keyRing, clock, shard } = means
  const candidates = await runNamed<Candidate>(engine, 'operation_candidates', candidatesStatement, [shard])
  for (const [tenantId, projectId, id, kind, actor] of candidates) {
    await keyRing.load(tenantId)
    const scopes = new Set(['operations:write', kindOf(kind).scope] as const)
    const ctx: Ctx = {
      pool: engine,
      keyRing,
      clock,
      tenantId,
      projectId,
      actor: actorOf(actor),
      scopes,
      requestId: null,
    }
    const step = await withTx(ctx, (tx) => takeStep(tx, id))
    if (step !== null) return step
  }
  return null
}

type HeldRow = [kind: string, plan: unknown, undoOf: Uuid | null, rate: number | null, mayTell: boolean]
type ItemRow = [position: number, id: Uuid | null, name: string, data: unknown]
type Done = Outcome | { state: 'failed'; detail: string }

async function takeStep(tx: Tx, id: Uuid): Promise<Step | null> {
  const held = await runNamed<HeldRow>(
    tx.client,
    'hold_operation',
    `select kind, plan, undo_of, rate, told_at < clock_timestamp() - ${tellSeconds} * interval '1 second' from operations
     where tenant_id = $1 and id = $2 and state = 'running' and next_at <= (select clock_timestamp())
     for update skip locked`,
    [tx.tenantId, id],
  )
  if (held[0] === undefined) return null
  const [name, written, undoOf, rate, mayTell] = held[0]
  const kind = kindOf(name)
  const plan = kind.plan.parse(written)
  const isUndo = undoOf !== null
  const room = isUndo || kind.room === undefined ? itemsPerStep : await kind.room(tx, plan, id)
  const paced = rate === null ? itemsPerStep : Math.max(1, Math.floor(rate / 4))
  const items = await waitingItems(tx, id, Math.min(itemsPerStep, room, paced))
  const step: Step = { operationId: id, kind: name, items: 0, wakes: new Set(), broken: [] }
  const outcomes: { position: number; outcome: Done }[] = []
  const untilMs = performance.now() + stepMs
  for (const [position, itemId, itemName, data] of items) {
    if (outcomes.length > 0 && performance.now() > untilMs) break
    const item: StepItem = { id: itemId, name: itemName, data, operationId: id }
    const work = (): Promise<Outcome> =>
      isUndo && kind.undo !== undefined ? kind.undo(tx, plan, item) : kind.apply(tx, plan, item)
    const outcome = await attempt(tx, work, (error) => step.broken.push({ item: itemName, error }))
    if (outcome.state === 'done' && outcome.wakes !== undefined) step.wakes.add(outcome.wakes)
    outcomes.push({ position, outcome })
  }
  step.items = outcomes.length
  await writeOutcomes(tx, id, outcomes)
  await advance(tx, { id, kind: name, rate, mayTell, states: outcomes.map(({ outcome }) => outcome.state) })
  return step
}

const waitingItems = (tx: Tx, id: Uuid, limit: number): Promise<ItemRow[]> =>
  limit <= 0
    ? Promise.resolve([])
    : runNamed<ItemRow>(
        tx.client,
        'waiting_items',
        `select position, item_id, name, data from operation_items
         where tenant_id = $1 and operation_id = $2 and state = 0 order by position limit $3`,
        [tx.tenantId, id, limit],
      )

/** One item, kept or dropped as a whole. Only a database that is away, or a conflict worth a retry, ends the step. */
async function attempt(tx: Tx, work: () => Promise<Outcome>, onBroken: (error: unknown) => void): Promise<Done> {
  await tx.client.query('savepoint item')
  try {
    const outcome = await work()
    await tx.client.query('release savepoint item')
    return outcome
  } catch (error) {
    if (isRetryable(error) || isUnavailable(error)) throw error
    await tx.client.query('rollback to savepoint item; release savepoint item')
    if (error instanceof AppError) return { state: 'failed', detail: detailOf(error) }
    onBroken(error)
    return { state: 'failed', detail: 'Something went wrong here, and was written to the log.' }
  }
}

const detailOf = ({ message, extra }: AppError): string =>
  extra.errors === undefined ? message : extra.errors.map(({ pointer, detail }) => `${pointer}: ${detail}`).join('; ')

async function writeOutcomes(tx: Tx, id: Uuid, outcomes: { position: number; outcome: Done }[]): Promise<void> {
  if (outcomes.length === 0) return
  const detail = (outcome: Done): string | null => ('detail' in outcome ? (outcome.detail ?? null) : null)
  const before = (outcome: Done): string | null =>
    outcome.state === 'done' && outcome.before !== undefined ? JSON.stringify(outcome.before) : null
  const madeId = (outcome: Done): Uuid | null => (outcome.state === 'done' ? (outcome.madeId ?? null) : null)
  await runNamed(
    tx.client,
    'write_outcomes',
    `update operation_items i set state = u.s, before = u.b::jsonb, detail = u.d, item_id = coalesce(u.m, i.item_id)
     from unnest($3::int[], $4::smallint[], $5::text[], $6::text[], $7::uuid[]) u(p, s, b, d, m)
     where i.tenant_id = $1 and i.operation_id = $2 and i.position = u.p`,
    [
      tx.tenantId,
      id,
      arrayLiteral(outcomes.map(({ position }) => position)),
      arrayLiteral(outcomes.map(({ outcome }) => itemStates.indexOf(outcome.state))),
      textArrayLiteral(outcomes.map(({ outcome }) => before(outcome))),
      textArrayLiteral(outcomes.map(({ outcome }) => detail(outcome))),
      arrayLiteral(outcomes.map(({ outcome }) => madeId(outcome))),
    ],
  )
}

type ProgressRow = [total: number, done: number, unchanged: number, failed: number, isFinished: boolean]

interface Progress {
  id: Uuid
  kind: string
  rate: number | null
  mayTell: boolean
  states: Done['state'][]
}

async function advance(tx: Tx, { id, kind, rate, mayTell, states }: Progress): Promise<void> {
  const count = (state: Done['state']): number => states.filter((each) => each === state).length
  // A rate makes up for at most a second that was lost.
  const pauseSeconds = states.length === 0 ? noRoomSeconds : rate === null ? 0 : states.length / rate
  const rows = await runNamed<ProgressRow>(
    tx.client,
    'advance_operation',
    `update operations o set done = done + $3, unchanged = unchanged + $4, failed = failed + $5,
       stepped_at = clock_timestamp(), updated_at = clock_timestamp(),
       next_at = greatest(next_at, clock_timestamp() - interval '1 second') + $6 * interval '1 second',
       told_at = case when $7 then clock_timestamp() else told_at end,
       state = case when done + unchanged + failed + $8 >= total then 'finished' else state end,
       finished_at = case when done + unchanged + failed + $8 >= total then clock_timestamp() end
     where tenant_id = $1 and id = $2
     returning total, done, unchanged, failed, state = 'finished'`,
    [
      tx.tenantId,
      id,
      count('done'),
      count('unchanged'),
      count('failed'),
      pauseSeconds,
      mayTell && states.length > 0,
      states.length,
    ],
  )
  const [total, done, unchanged, failed, isFinished] = rows[0] ?? [0, 0, 0, 0, false]
  const data = { kind, total, done, unchanged, failed }
  if (isFinished) await append(tx, { type: 'operation.finished', subject: id, data })
  else if (mayTell && states.length > 0) await append(tx, { type: 'operation.progressed', subject: id, data })
}

/** Forgets operations that ended more than `days` ago, with their items, a few at a time. Returns how many. */
export async function forgetOperations(pool: Pool, days: number, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(
    pool,
    'forget_operations',
    `with gone as (
       delete from operations where (tenant_id, id) in (
         select tenant_id, id from operations
         where finished_at < (select clock_timestamp() - $1 * interval '1 day') order by finished_at limit $2)
       returning 1)
     select count(*)::int from gone`,
    [days, limit],
  )
  return rows[0]?.[0] ?? 0
}
