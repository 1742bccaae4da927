import type { EditOccurrence, Job, ListedOccurrence, Meridian } from '@meridian/sdk'
import { type Coming, cellsOf } from '#lib/occurrence/cells.ts'
import { entriesOf, restingParts, restOf, tally } from '#lib/occurrence/entries.ts'
import { laneAt, lanesOf } from '#lib/occurrence/lanes.ts'
import { edgesOf, readView } from '#lib/occurrence/view.ts'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import { projectNow } from '#lib/server/project-now.ts'
import { wallClock } from '#lib/time/words.ts'
import type { Actions, PageServerLoad } from './$types'

// More single instants than these are drawn as slices, and listed a day or an hour at a time.
const drawnMax = 600
const listedMax = 60
const upcomingMax = 2_000
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
  const [counted, ahead] = await Promise.all([
    sdk.jobs.occurrenceCounts(job.id, { from: iso(edges.from), to: iso(edges.to), by, timezone: zone }),
    countAhead(sdk, job, { edges, now, by, zone }),
  ])
  const total =
    counted.counts.reduce((sum, { pending, run, skipped, missed }) => sum + pending + run + skipped + missed, 0) +
    ahead.counts.reduce((sum, { coming, skipped }) => sum + coming + skipped, 0)
  const isDense = total > drawnMax
  const lanes = lanesOf(view, zone)
  const asked = laneAt(lanes, Date.parse(url.searchParams.get('at') ?? ''))
  const listed = asked ?? (total > listedMax || view.shape === 'month' ? (laneAt(lanes, now) ?? lanes[0]) : undefined)
  const read = isDense && listed ? listed : edges
  const [ledger, upcoming] = await Promise.all([
    readLedger(sdk, job.id, read),
    read.to > now && job.schedule
      ? sdk.jobs.upcoming(job.id, { from: iso(read.from), until: iso(read.to - 1), limit: upcomingMax })
      : [],
  ])
  const entries = entriesOf(ledger.rows, upcoming, { now, rest: restOf(job) })
  const cells = isDense || view.shape === 'month' ? cellsOf(counted.counts, ahead.counts) : undefined
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
    countedUntil: ahead.countedUntil,
    hasMore: ledger.hasMore || upcoming.length === upcomingMax,
  }
}

/** What comes, slice by slice; while the job rests it is skipped. And how far it was counted, where that is not all. */
async function countAhead(
  sdk: Meridian,
  job: Job,
  { edges, now, by, zone }: { edges: { from: number; to: number }; now: number; by: Slice; zone: string },
): Promise<{ counts: Coming[]; countedUntil: number | undefined }> {
  const range = { from: Math.max(edges.from, now), to: edges.to }
  if (job.schedule === null) return { counts: [], countedUntil: undefined }
  const parts = restingParts(range, restOf(job))
  const found = await Promise.all(
    parts.map(({ from, to }) => sdk.jobs.upcomingCounts(job.id, { from: iso(from), to: iso(to), by, timezone: zone })),
  )
  const counts = found.flatMap(({ counts }, index) =>
    parts[index]?.rests
      ? counts.map(({ from, coming, skipped }) => ({ from, coming: 0, skipped: coming + skipped }))
      : counts,
  )
  const ends = found.flatMap(({ countedUntil }) => (countedUntil === null ? [] : [Date.parse(countedUntil)]))
  return { counts, countedUntil: ends.length === 0 ? undefined : Math.min(...ends) }
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
