import type { TestClock } from '@meridian/core/clock/test-clocks'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { instant, toInstant, toInstantOrNull, wireId } from './values.ts'

export const testClockWire = z
  .strictObject({
    id: wireId('clk'),
    name: z.string(),
    now: instant,
    target: instant.nullable().meta({ description: 'Where it is on its way to; null: it stands still.' }),
    openRuns: z.int().meta({ description: 'Runs it let go and waits for before it goes on.' }),
    createdAt: instant.meta({ description: 'In real time.' }),
    updatedAt: instant,
  })
  .meta({ id: 'TestClock' })

export const testClockToWire = (clock: TestClock): z.output<typeof testClockWire> => ({
  id: toWireId('clk', clock.id),
  name: clock.name,
  now: toInstant(clock.now),
  target: toInstantOrNull(clock.target),
  openRuns: clock.openRuns,
  createdAt: toInstant(clock.createdAt),
  updatedAt: toInstant(clock.updatedAt),
})
