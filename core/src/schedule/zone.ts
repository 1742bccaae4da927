/** A stretch of time with one UTC offset. Epoch milliseconds, `from` inclusive, `until` exclusive. */
export interface Span {
  readonly from: number
  readonly until: number
  readonly offset: number
}

/** One time zone. `spanAt` answers for every instant; the first and last spans are unbounded. */
export interface Zone {
  readonly id: string
  spanAt(epochMs: number): Span
}

/** The port to the time-zone data: native Temporal here, compiled zone files elsewhere. */
export interface ZoneDatabase {
  readonly version: string
  /** The zone of an IANA name in any case; `undefined` for anything else (offsets such as `+01:00` too). */
  find(id: string): Zone | undefined
}

/** What a wall-clock time that a clock change leaves out becomes. */
export const gapRules = ['next', 'skip', 'shift'] as const
/** Which of the two instants of a repeated wall-clock time count. */
export const foldRules = ['first', 'second', 'both'] as const
export type GapRule = (typeof gapRules)[number]
export type FoldRule = (typeof foldRules)[number]

export interface ClockRule {
  readonly gap: GapRule
  readonly fold: FoldRule
}

/** What a schedule gets that does not choose: nothing is lost and nothing runs twice. */
export const defaultClockRule: ClockRule = { gap: 'next', fold: 'first' }
/** The rule of interval-like schedules: every time that exists, as often as it exists. */
export const realTimeRule: ClockRule = { gap: 'skip', fold: 'both' }

/**
 * Wall-clock times [from, until) and where they land: at `wall - offset`, but never before `earliest`.
 * A wall-clock time is the epoch milliseconds of the same reading in UTC.
 */
export interface Window {
  readonly from: number
  readonly until: number
  readonly offset: number
  readonly earliest: number
}

/**
 * The wall-clock times that run inside a span under a rule. This is the only place where gap and fold
 * are decided. It looks at the neighbouring spans only: no zone changes its clocks twice within a day.
 */
export function windowsOf(zone: Zone, span: Span, rule: ClockRule): Window[] {
  const { from: earliest, until, offset } = span
  const before = earliest === -Infinity ? offset : zone.spanAt(earliest - 1).offset
  const after = until === Infinity ? offset : zone.spanAt(until).offset
  const startsOnOldClock = before > offset ? rule.fold === 'first' : rule.gap === 'next'
  const main: Window = {
    from: earliest + (startsOnOldClock ? before : offset),
    until: until + (after < offset && rule.fold === 'second' ? after : offset),
    offset,
    earliest,
  }
  if (before < offset && rule.gap === 'shift')
    return [{ from: earliest + before, until: earliest + offset, offset: before, earliest }, main]
  return [main]
}

const reachMs = 36 * 3_600_000

/** The instants of one wall-clock time, in order: none, one or two. */
export function wallToInstants(zone: Zone, wall: number, rule: ClockRule): number[] {
  const instants: number[] = []
  let span = zone.spanAt(wall - reachMs)
  for (;;) {
    for (const window of windowsOf(zone, span, rule))
      if (window.from <= wall && wall < window.until) instants.push(Math.max(wall - window.offset, window.earliest))
    if (span.until > wall + reachMs) return instants
    span = zone.spanAt(span.until)
  }
}

/** A wall-clock time as `2026-03-29T02:00:00`, with milliseconds only where it has some. */
export function formatWall(wall: number): string {
  return new Date(wall).toISOString().replace(/(\.000)?Z$/, '')
}

/** `+01:00`, with seconds only where a zone has them (local mean time). */
export function formatOffset(offset: number): string {
  const size = new Date(Math.abs(offset)).toISOString().slice(11, 19)
  return (offset < 0 ? '-' : '+') + (size.endsWith(':00') ? size.slice(0, 5) : size)
}

// Temporal also takes offsets such as `+01:00`, which are no zone: the name has to start with a letter.
const zoneName = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/

function nativeId(id: string): string | undefined {
  if (!zoneName.test(id)) return undefined
  try {
    return new Temporal.ZonedDateTime(0n, id).timeZoneId
  } catch {
    return undefined
  }
}

function nativeSpan(id: string, epochMs: number): Span {
  const at = new Temporal.ZonedDateTime(BigInt(epochMs) * 1_000_000n, id)
  return {
    // A transition exactly at `at` opens its span, so the search backwards starts just behind it.
    from: at.add({ milliseconds: 1 }).getTimeZoneTransition('previous')?.epochMilliseconds ?? -Infinity,
    until: at.getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity,
    offset: at.offsetNanoseconds / 1_000_000,
  }
}

// Enough for the years 1970 to 2100; what lies further away is asked for rarely.
const spansMax = 300

function nativeZone(id: string): Zone {
  const spans: Span[] = []
  const has = (span: Span, epochMs: number): boolean => span.from <= epochMs && epochMs < span.until
  return {
    id,
    spanAt(epochMs) {
      const known = spans.findLast((span) => has(span, epochMs))
      if (known) return known
      const span = nativeSpan(id, epochMs)
      if (spans.push(span) > spansMax) spans.shift()
      return span
    },
  }
}

function createNativeZones(): ZoneDatabase {
  const zones = new Map<string, Zone>()
  return {
    version: process.versions.tz ?? 'unknown',
    find(id) {
      const canonical = nativeId(id)
      if (canonical === undefined) return undefined
      const zone = zones.get(canonical) ?? nativeZone(canonical)
      zones.set(canonical, zone)
      return zone
    },
  }
}

/** The zone data that this Node carries; it remembers the spans it was asked for. */
export const nativeZones: ZoneDatabase = createNativeZones()
