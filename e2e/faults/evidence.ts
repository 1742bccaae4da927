import type { Api } from '../api.ts'
import { sleep, waitFor } from '../wait.ts'
import { type Evidence, examine, type FinalRun, type Findings } from './checker.ts'
import type { Load } from './load.ts'
import type { World } from './world.ts'

interface WireRun {
  id: string
  status: string
}

interface WirePage<Item> {
  data: Item[]
  nextCursor: string | null
}

/** Every item of a list, page after page. */
export async function readAll<Item>({ api }: { api: Api }, path: string): Promise<Item[]> {
  const items: Item[] = []
  const separator = path.includes('?') ? '&' : '?'
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: WirePage<Item> = await api.ask('GET', `${path}${separator}limit=200${from}`)
    items.push(...page.data)
    cursor = page.nextCursor
  }
  return items
}

const openRuns = (label: string): string => `/v1/runs?queue=${label}&status=scheduled,ready,queued,running&limit=1`

/** Waits until every run of the queue has ended, but no longer than that: whatever is still open is found as lost. */
export async function untilEnded({ api }: Pick<World, 'api'>, label: string, timeoutMs: number): Promise<void> {
  const hasEnded = async () => (await api.ask<WirePage<WireRun>>('GET', openRuns(label))).data.length === 0
  await waitFor('all runs to end', hasEnded, { timeoutMs, everyMs: 200 }).catch(() => undefined)
}

/** Waits until every run of the load has ended, then compares what was promised with what happened. */
export async function settle(
  { api, receiver }: Pick<World, 'api' | 'receiver'>,
  load: Load,
  timeoutMs: number,
): Promise<Findings> {
  if (load.accepted.length === 0) throw new Error('no run was accepted: the test saw nothing')
  await untilEnded({ api }, load.label, timeoutMs)
  return examine(await gather({ api, receiver }, load))
}

/** Waits for as long as a run of the load is called at least every `patienceMs`: a slow machine loses nothing. */
export async function untilStill(
  { api, receiver }: Pick<World, 'api' | 'receiver'>,
  load: Load,
  patienceMs: number,
): Promise<void> {
  let calls = 0
  for (let calledAtMs = performance.now(); performance.now() - calledAtMs < patienceMs; await sleep(200)) {
    const before = calls
    calls = await receiver.count(load.label)
    if (calls > before) calledAtMs = performance.now()
    const { data } = await api.ask<WirePage<WireRun>>('GET', openRuns(load.label))
    if (data.length === 0) return
  }
}

async function gather(world: Pick<World, 'api' | 'receiver'>, load: Load): Promise<Evidence> {
  const wire = await readAll<WireRun>(world, `/v1/runs?queue=${load.label}`)
  const runs: FinalRun[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let run = wire[next++]; run !== undefined; run = wire[next++]) {
        runs.push({ id: run.id, status: run.status, events: await eventsOf(world, run.id) })
      }
    }),
  )
  return { accepted: load.accepted, runs, requests: await world.receiver.requests(load.label) }
}

/** The types of the events told of a run, in order. */
export async function eventsOf({ api }: { api: Api }, run: string): Promise<string[]> {
  const { data } = await api.ask<WirePage<{ type: string }>>('GET', `/v1/runs/${run}/events`)
  return data.map(({ type }) => type)
}
