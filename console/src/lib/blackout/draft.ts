import type { Blackout } from '@meridian/sdk'
import { addDays, instantAt } from '#lib/time/day.ts'
import { wallClock } from '#lib/time/words.ts'

/** A blackout as a person writes it: wall clocks in their zone. */
export interface BlackoutDraft {
  name: string
  from: string
  until: string
  roll: Blackout['roll']
  isForAll: boolean
}

/** A blackout for changing it, or a new one: the night to come. */
export function draftOf(blackout: Blackout | undefined, now: number, zone: string): BlackoutDraft {
  if (blackout) {
    const { name, roll, isForAll } = blackout
    const wall = (instant: string) => wallClock(Date.parse(instant), zone).slice(0, 16)
    return { name, roll, isForAll, from: wall(blackout.from), until: wall(blackout.until) }
  }
  const today = wallClock(now, zone).slice(0, 10)
  return { name: '', from: `${today}T22:00`, until: `${addDays(today, 1)}T02:00`, roll: 'skip', isForAll: false }
}

/** The stretch that the wall clocks mean; undefined when it ends before it starts. */
export function stretchOf({ from, until }: BlackoutDraft, zone: string): { from: string; until: string } | undefined {
  const instantOf = (wall: string) => instantAt(wall.slice(0, 10), wall.slice(11, 16), zone)
  const [start, end] = [instantOf(from), instantOf(until)]
  return start < end ? { from: new Date(start).toISOString(), until: new Date(end).toISOString() } : undefined
}
