import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileSchedule } from '../schedule/occurrences.ts'
import { nativeZones } from '../schedule/zone.ts'
import { catchUpCodes, catchUpPaceMs, type Decision, decideInstants, type InstantRules } from './decide-instants.ts'

const second = 1_000
const minute = 60 * second
const rules = (changes: Partial<InstantRules>): InstantRules => ({
  nextAtMs: 0,
  graceMs: minute,
  catchUp: catchUpCodes.one,
  catchUpMax: 100,
  catchUpWindowMs: null,
  runsLeft: null,
  reason: null,
  ...changes,
})
const every = (stepMs: number) => ({
  next: (afterMs: number) => {
    const at = (Math.floor(afterMs / stepMs) + 1) * stepMs
    return { at, wall: at }
  },
  decide: ({ at }: { at: number }) => ({ effectiveMs: at, notes: [] }),
})
/** Every second of the plan is forbidden. */
const everyOther = (stepMs: number) => ({
  ...every(stepMs),
  decide: ({ at }: { at: number }) =>
    (at / stepMs) % 2 === 1
      ? { effectiveMs: at, skipped: 'calendar' as const, notes: [] }
      : { effectiveMs: at, notes: [] },
})
const letter = ({ outcome, caughtUp, reason, count }: Decision): string =>
  `${outcome === 'missed' ? 'm' : outcome === 'skipped' ? (reason ?? '')[0] : caughtUp ? 'C' : 'p'}${count > 1 ? count : ''}`
const words = (decisions: Decision[]): string => decisions.map(letter).join(' ')
const decide = (changes: Partial<InstantRules>, nowMs: number, stepMs = minute, plan = every(stepMs)): string =>
  words(decideInstants(plan, rules(changes), { nowMs, untilMs: nowMs + 2_000 }).decisions)

describe('catching up', () => {
  it('what is at most a minute late runs normally', () => {
    expect(decide({ nextAtMs: 10 * minute }, 10 * minute - 2_000)).toBe('p')
    expect(decide({ nextAtMs: 10 * minute }, 11 * minute)).toBe('p p')
    expect(decide({ nextAtMs: 100 * minute }, 100 * minute + 30_000, 5_000)).toBe('p p p p p p p')
  })

  it('one: older ones are coalesced into the last of them', () => {
    expect(decide({ nextAtMs: 10 * minute }, 11 * minute + 1)).toBe('C p')
    expect(decide({ nextAtMs: 10 * minute }, 15 * minute + 30_000)).toBe('m4 C p')
    expect(decide({ nextAtMs: 60 * minute }, 119 * minute, 60 * minute)).toBe('C')
  })

  it('one: into the last that may run at all', () => {
    expect(decide({ nextAtMs: 10 * minute }, 15 * minute + 30_000, minute, everyOther(minute))).toBe('m c m c C c')
  })

  it('skip: older ones are missed', () => {
    expect(decide({ nextAtMs: 10 * minute, catchUp: catchUpCodes.skip }, 15 * minute + 30_000)).toBe('m5 p')
  })

  it('all: the last few run, oldest first, at a pace; those too old are missed', () => {
    const all = { nextAtMs: 0, catchUp: catchUpCodes.all, catchUpMax: 100 }
    const nowMs = 180 * minute - 30_000
    const { decisions } = decideInstants(every(minute), rules(all), { nowMs, untilMs: nowMs + 2_000 })
    expect(words(decisions.slice(0, 2))).toBe('m79 C')
    const caughtUp = decisions.filter((each) => each.caughtUp)
    expect(caughtUp).toHaveLength(100)
    expect(caughtUp.map((each) => each.dueAtMs)).toEqual(caughtUp.map((_, index) => nowMs + index * catchUpPaceMs))
    expect(decide({ ...all, catchUpWindowMs: 3 * minute }, nowMs)).toBe('m177 C C p')
  })

  it.each(Object.values(catchUpCodes))(
    'rule %i, for any schedule and outage, in passes of any size: every instant once and in order, only late ones missed or caught up, as many as the rule says',
    (catchUp) => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 7_200 }),
          fc.integer({ min: 0, max: 20_000 }),
          fc.integer({ min: 1, max: 300 }),
          fc.boolean(),
          (stepSeconds, lateSeconds, share, isForbidden) => {
            const plan = isForbidden ? everyOther(stepSeconds * second) : every(stepSeconds * second)
            const clock = { nowMs: 1_000_000 * second, untilMs: 1_000_002 * second }
            const first = plan.next(clock.nowMs - lateSeconds * second).at
            const decisions: Decision[] = []
            let nextAtMs: number | null = first
            let looks = 0
            while (nextAtMs !== null && nextAtMs <= clock.untilMs) {
              const pass = decideInstants(plan, rules({ nextAtMs, catchUp, catchUpMax: 10 }), clock, {
                mayGoOn: (decided) => decided < share && looks++ % 50 !== 49,
              })
              expect(pass.decisions.length).toBeGreaterThan(0)
              decisions.push(...pass.decisions)
              nextAtMs = pass.nextAtMs
            }
            let at = first
            for (const { nominalAtMs, untilMs, count } of decisions) {
              expect(nominalAtMs).toBe(at)
              for (let index = 1; index < count; index++) at = plan.next(at).at
              expect(untilMs).toBe(at)
              at = plan.next(at).at
            }
            expect(at).toBeGreaterThan(clock.untilMs)
            const isLate = (each: Decision): boolean => clock.nowMs - each.nominalAtMs > minute
            for (const each of decisions)
              if (each.outcome !== 'skipped') expect(isLate(each)).toBe(each.outcome === 'missed' || each.caughtUp)
            const late = decisions.filter((each) => isLate(each) && each.outcome !== 'skipped')
            const lateCount = late.reduce((sum, each) => sum + each.count, 0)
            const keepMax = catchUp === catchUpCodes.one ? 1 : catchUp === catchUpCodes.all ? 10 : 0
            const caughtUp = late.filter((each) => each.caughtUp).length
            expect(caughtUp).toBe(Math.min(keepMax, lateCount))
            expect(late.slice(late.length - caughtUp).every((each) => each.caughtUp)).toBe(true)
          },
        ),
      )
    },
  )
})

describe('what does not run', () => {
  it('is told with its reason, equal neighbours in a row of their own once they have passed', () => {
    expect(decide({ nextAtMs: 0, reason: 'paused' }, 60 * minute)).toBe('p61')
    const ahead = decideInstants(every(minute), rules({ reason: 'paused' }), { nowMs: 0, untilMs: 2 * minute })
    expect(words(ahead.decisions)).toBe('p p p')
  })

  it('leaves what the ledger holds as it is, and decides what is open', () => {
    const known = new Map([
      [2 * minute, { untilMs: 4 * minute, isOpen: false, movedToMs: null }],
      [6 * minute, { untilMs: 6 * minute, isOpen: true, movedToMs: null }],
      [8 * minute, { untilMs: 8 * minute, isOpen: true, movedToMs: 20 * minute }],
    ])
    const clock = { nowMs: 10 * minute, untilMs: 10 * minute }
    const skipped = decideInstants(every(minute), rules({ catchUp: catchUpCodes.skip }), clock, { known }).decisions
    expect(skipped.map((each) => `${each.nominalAtMs / minute}${letter(each)}`)).toEqual([
      '0m2',
      '5m',
      '6m',
      '7m',
      '8p',
      '9p',
      '10p',
    ])
    expect(skipped.find((each) => each.nominalAtMs === 8 * minute)?.dueAtMs).toBe(20 * minute)
  })
})

describe('a schedule that ends after so many runs', () => {
  it('says so in the ledger, where it would have gone on', () => {
    const decided = decideInstants(every(minute), rules({ runsLeft: 3 }), { nowMs: 0, untilMs: 5 * minute })
    expect(words(decided.decisions)).toBe('p p p m')
    expect(decided.decisions.at(-1)).toMatchObject({ nominalAtMs: 3 * minute, outcome: 'skipped', reason: 'max-runs' })
    expect(decided.nextAtMs).toBeNull()
  })

  it('as soon as the last run is written, and counts no instant that does not run', () => {
    const exact = decideInstants(every(minute), rules({ runsLeft: 1 }), { nowMs: 0, untilMs: 0 })
    expect(exact.decisions.map((each) => each.reason)).toEqual([null, 'max-runs'])
    const plan = everyOther(minute)
    const forbidden = decideInstants(plan, rules({ runsLeft: 2 }), { nowMs: 0, untilMs: 2 * minute })
    expect(words(forbidden.decisions)).toBe('p c p m')
    const late = decideInstants(plan, rules({ runsLeft: 2 }), { nowMs: 10 * minute, untilMs: 10 * minute })
    expect(words(late.decisions)).toBe('m c m c m c m c C c p m')
  })
})

it('calendars, jitter and blackouts of a compiled schedule decide', () => {
  const blackouts = [{ name: 'freeze', fromMs: 30 * minute, untilMs: 40 * minute, roll: 'next' as const }]
  const plan = compileSchedule({ type: 'cron', cron: '*/15 * * * *', timezone: 'UTC', window: 'PT1M' }, nativeZones, {
    seed: 'job',
    blackouts,
  })
  const { decisions } = decideInstants(plan, rules({ nextAtMs: 15 * minute }), { nowMs: 0, untilMs: 45 * minute })
  expect(decisions.map((each) => each.nominalAtMs / minute)).toEqual([15, 30, 45])
  expect(decisions[1]?.dueAtMs).toBe(40 * minute)
  expect((decisions[0]?.dueAtMs ?? 0) - 15 * minute).toBe((decisions[2]?.dueAtMs ?? 0) - 45 * minute)
})
