/** Counted outcomes that ended within one stretch of time. */
export interface PastCount {
  at: number
  succeeded: number
  failed: number
  other: number
}

/** A start to come. */
export interface ComingStart {
  at: number
  jobId: string
}

/** How many starts there will be in a slice of time. */
export interface ComingCount {
  from: number
  to: number
  count: number
}

/** One column of the band. Heights are 0 to 1 of the half's height. */
export interface BandColumn {
  start: number
  end: number
  succeeded: number
  failed: number
  other: number
  coming: number
  /** Jobs that start within the same minute, when there are at least `collisionSize` of them. */
  collision: number
  height: number
  failedShare: number
  otherShare: number
}

const hour = 3_600_000
const collisionSize = 5

/**
 * The columns of a band around now: what ended on the left, what will start on the right. Heights follow the
 * square root of the count, each half against its own maximum, so one busy hour does not flatten the rest. `counts` are
 * exact, `starts` the nearest of them, which tell who meets whom.
 */
export function bandColumns(
  now: number,
  past: readonly PastCount[],
  { counts, starts }: { counts: readonly ComingCount[]; starts: readonly ComingStart[] },
  { hours = 24, columnMinutes = 30 } = {},
): BandColumn[] {
  const width = columnMinutes * 60_000
  const begin = now - hours * hour
  const columns = Array.from({ length: (2 * hours * hour) / width }, (_, index): BandColumn => {
    const start = begin + index * width
    return {
      start,
      end: start + width,
      succeeded: 0,
      failed: 0,
      other: 0,
      coming: 0,
      collision: 0,
      height: 0,
      failedShare: 0,
      otherShare: 0,
    }
  })
  const columnAt = (at: number) => columns[Math.floor((at - begin) / width)]

  for (const count of past) {
    const column = count.at < now ? columnAt(count.at) : undefined
    if (!column) continue
    column.succeeded += count.succeeded
    column.failed += count.failed
    column.other += count.other
  }
  for (const { from, to, count } of counts) {
    // The API's minute may be the next one already, so a slice belongs where its middle lies.
    const column = columnAt((from + to) / 2)
    if (column) column.coming += count
  }
  const minutes = new Map<number, Set<string>>()
  for (const start of starts) {
    const column = start.at >= now ? columnAt(start.at) : undefined
    if (!column) continue
    const minute = Math.floor(start.at / 60_000)
    const jobs = minutes.get(minute) ?? new Set()
    minutes.set(minute, jobs.add(start.jobId))
    if (jobs.size >= collisionSize) column.collision = Math.max(column.collision, jobs.size)
  }
  scale(columns.filter((column) => column.end <= now))
  scale(columns.filter((column) => column.end > now))
  return columns
}

function scale(columns: BandColumn[]): void {
  const total = (column: BandColumn) => column.succeeded + column.failed + column.other + column.coming
  const most = Math.max(...columns.map(total), 1)
  for (const column of columns) {
    const count = total(column)
    if (count === 0) continue
    column.height = Math.max(Math.sqrt(count / most), 0.08)
    column.failedShare = column.failed / count
    column.otherShare = column.other / count
  }
}

/** Full hours in a zone to label the band with, every `stepHours` of the zone's own clock. */
export function bandTicks(from: number, to: number, zone: string, stepHours = 6): { at: number; label: string }[] {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  const ticks: { at: number; label: string }[] = []
  // Half hours, because some zones are half an hour off.
  for (let at = Math.ceil(from / (hour / 2)) * (hour / 2); at <= to; at += hour / 2) {
    const label = format.format(at)
    if (label.endsWith(':00') && Number(label.slice(0, 2)) % stepHours === 0) ticks.push({ at, label })
  }
  return ticks
}
