import type { EditOccurrence, ListedOccurrence, Meridian } from '@meridian/sdk'
import { cellsOf } from '#lib/occurrence/cells.ts'
import { entriesOf, restOf, tally } from '#lib/occurrence/entries.ts'
import { laneAt, lanesOf } from '#lib/occurrence/lanes.ts'
import { edgesOf, readView } from '#lib/occurrence/view.ts'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import { projectNow } from '#lib/server/project-now.ts'
import { startOfDay } from '#lib/time/day.ts'
import { wallClock } from '#lib/time/words.ts'
import type { Actions, PageServerLoad } from './$types'

// More single instants than these are drawn as slices, and listed a day or an hour at a time.
const drawnMax = 600
const listedMax = 60
const upcomingMax = 2_000
const minuteMs = 60_000
const iso = (at: number) => new Date(at).toISOString()

type Slice = 'minute' | 'hour' | 'day'

export const load: PageServerLoad = async ({ locals, parent, url, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const [{ job }, now] = await Promise.all([parent(), projectNow(locals)])
  const zone = job.schedule?.timezone ?? locals.preferences.zone
  const view = readView(url.searchParams, wallClock(now, zone).slice(0, 10))
  const edges = edgesOf(view, zone)
  const by: Slice = view.shape === 'month' ? 'day' : view.days === 1 ? 'minute' : 'hour'
  const [counted, upcoming] = await Promise.all([
    sdk.jobs.occurrenceCounts(job.id, { from: iso(edges.from), to: iso(edges.to), by, timezone: zone }),
    edges.to > now && job.schedule
      ? sdk.jobs.upcoming(job.id, { from: iso(edges.from), until: iso(edges.to - 1), limit: upcomingMax })
      : [],
  ])
  const past = counted.counts.reduce(
    (sum, { pending, run, skipped, missed }) => sum + pending + run + skipped + missed,
    0,
  )
  const total = past + upcoming.length
  const isDense = total > drawnMax
  const lanes = lanesOf(view, zone)
  const asked = laneAt(lanes, Date.parse(url.searchParams.get('at') ?? ''))
  const listed = asked ?? (total > listedMax || view.shape === 'month' ? (laneAt(lanes, now) ?? lanes[0]) : undefined)
  const read = isDense && listed ? listed : edges
  const ledger = await readLedger(sdk, job.id, read)
  const standing = { now, rest: restOf(job) }
  const ahead = entriesOf([], upcoming, standing)
  const isRead = ({ nominalAt }: { nominalAt: string }) => {
    const at = Date.parse(nominalAt)
    return read.from <= at && at < read.to
  }
  const entries = entriesOf(ledger.rows, upcoming.filter(isRead), standing)
  const known = new Set(entries.filter(({ kind }) => kind !== 'coming').map(({ nominalAt }) => nominalAt))
  const cells =
    isDense || view.shape === 'month'
      ? cellsOf(
          counted.counts,
          ahead.filter(({ nominalAt }) => !known.has(nominalAt)),
          sliceOf(by, zone),
        )
      : undefined
  return {
    view,
    zone,
    scheduleNow: now,
    isDense,
    entries,
    cells,
    stretches: counted.stretches.map(({ nominalAt, untilAt, count, outcome }) => ({
      from: Date.parse(nominalAt),
      until: Date.parse(untilAt),
      count,
      isMissed: outcome === 'missed',
    })),
    listedAt: listed?.from,
    counts:
      isDense && cells
        ? tally([...cells.flatMap(({ parts }) => parts), ...stretchParts(counted.stretches)])
        : tally(entries),
    isOpenEnded: upcoming.length === upcomingMax,
    hasMore: ledger.hasMore,
  }
}

const stretchParts = (stretches: readonly { outcome: string; count: number }[]) =>
  stretches.map(({ outcome, count }) => ({
    kind: outcome === 'missed' ? ('missed' as const) : ('skipped' as const),
    count,
  }))

async function readLedger(
  sdk: Meridian,
  jobId: string,
  { from, to }: { from: number; to: number },
): Promise<{ rows: ListedOccurrence[]; hasMore: boolean }> {
  const rows: ListedOccurrence[] = []
  for await (const row of sdk.jobs.occurrences(jobId, { from: iso(from), to: iso(to), limit: 200 })) {
    if (rows.length === drawnMax) return { rows, hasMore: true }
    rows.push(row)
  }
  return { rows, hasMore: false }
}

/** Where the minute, hour or day of an instant begins, by the clocks of a zone. */
const sliceOf =
  (by: Slice, zone: string) =>
  (at: number): number => {
    if (by === 'minute') return Math.floor(at / minuteMs) * minuteMs
    const wall = wallClock(at, zone)
    if (by === 'day') return startOfDay(wall.slice(0, 10), zone)
    return Math.floor(at / minuteMs) * minuteMs - Number(wall.slice(14, 16)) * minuteMs
  }

export const actions = {
  edit: async ({ locals, params, request }) => {
    const form = await request.formData()
    const edit = jsonOf(form, 'edit') as EditOccurrence
    return act(async () => {
      const { outcome } = await opened(locals).sdk.jobs.editOccurrence(params.job, textOf(form, 'nominalAt'), edit)
      return { outcome }
    })
  },
} satisfies Actions
