import { type Hit, wallTimesIn, type ZonedRule } from './wall-rule.ts'
import { dateWords, someWords, timeWords } from './words.ts'
import { type ClockRule, formatOffset, realTimeRule, wallToInstants, type Zone } from './zone.ts'

/** Enough wall-clock times to name three and know that there are more. */
const named = 4

/** What a clock change did to one occurrence; `fallback` is the clock rule of one that comes from no rule. */
export function occurrenceNotes(hit: Hit, zone: Zone, fallback: ClockRule): string[] {
  const clock = hit.from?.clock ?? fallback
  const span = zone.spanAt(hit.at)
  const local = hit.at + span.offset
  const day = dateWords(hit.wall)
  const notes: string[] = []
  if (local !== hit.wall) {
    const isMerged = hit.from !== undefined && clock.gap === 'next'
    const merged = isMerged ? wallTimesIn(hit.from.rule, hit.wall, local, named) : [hit.wall]
    const missing = merged.map((wall) => timeWords(wall, day))
    notes.push(
      missing.length > 1
        ? `gap: ${someWords(missing)} do not exist on ${day}, runs once at ${timeWords(local, day)}`
        : `gap: ${missing[0]} does not exist on ${day}, runs at ${timeWords(local, day)}`,
    )
  }
  const twins = wallToInstants(zone, local, realTimeRule)
  if (twins.length > 1) {
    const verb = clock.fold === 'both' ? 'this is' : 'runs at'
    const place = hit.at === twins[0] ? 'first' : 'second'
    notes.push(
      `fold: ${timeWords(local)} happens twice on ${dateWords(local)}, ${verb} the ${place} (${formatOffset(span.offset)})`,
    )
  }
  return notes
}

/** What to know about an interval of whole days in exact time. */
export function exactTimeWarning(zone: Zone): string {
  return `The interval is exact time: after a clock change in ${zone.id} it runs at another time of day.`
}

/** One sentence for each clock change in (after, until] that touches a time of the rule. */
export function clockChangeWarnings(zoned: ZonedRule, afterMs: number, untilMs: number): string[] {
  if (zoned.isHourly) return []
  const warnings: string[] = []
  let before = zoned.zone.spanAt(afterMs)
  while (before.until <= untilMs) {
    const span = zoned.zone.spanAt(before.until)
    const [from, until] = [span.from + before.offset, span.from + span.offset]
    const walls = wallTimesIn(zoned.rule, Math.min(from, until), Math.max(from, until), named)
    const day = dateWords(walls[0] ?? from)
    const change = `${timeWords(from, day)} to ${timeWords(until, day)}`
    const times = someWords(walls.map((wall) => timeWords(wall, day)))
    const one = walls.length === 1
    if (walls.length > 0)
      warnings.push(
        from < until
          ? `On ${day} the clocks in ${zoned.zone.id} go forward from ${change}: ${times} ${one ? 'does' : 'do'} not exist, so it ${gapOutcome(zoned.clock, walls, until, day)}.`
          : `On ${day} the clocks in ${zoned.zone.id} go back from ${change}: ${times} ${one ? 'happens' : 'happen'} twice, and it runs ${foldOutcomes[zoned.clock.fold]}.`,
      )
    before = span
  }
  return warnings

  function gapOutcome({ gap }: ClockRule, walls: number[], end: number, day: string): string {
    if (gap === 'skip') return 'does not run then'
    if (gap === 'next') return `runs ${walls.length > 1 ? 'once ' : ''}at ${timeWords(end, day)}`
    const lengthMs = zoned.zone.spanAt(before.until).offset - before.offset
    return `runs at ${someWords(walls.map((wall) => timeWords(wall + lengthMs, day)))}`
  }
}

const foldOutcomes = { first: 'at the first', second: 'at the second', both: 'at both' } as const
