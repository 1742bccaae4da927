import type { Simulation } from '@meridian/core/job/simulate'
import type { Occurrence } from '@meridian/core/schedule/occurrences'
import { toWire } from '@meridian/core/schedule/preview'
import { z } from 'zod'
import { jobToWire, jobWire } from './job.ts'
import { previewedOccurrenceWire } from './occurrence.ts'
import { instant, toInstant } from './values.ts'

const listedMax = 200

const sideWire = z.strictObject({
  count: z.int(),
  first: z.array(previewedOccurrenceWire).meta({ description: `The first ${listedMax} of them.` }),
})

export const simulationWire = z
  .strictObject({
    job: jobWire.meta({ description: 'As it would be.' }),
    from: instant,
    until: instant.meta({ description: 'In 30 days; earlier when there is more than can be looked at.' }),
    added: sideWire.meta({ description: 'Instants that would be new.' }),
    removed: sideWire.meta({ description: 'Instants that would be gone.' }),
    kept: z.int(),
    overlaps: z
      .strictObject({
        durationMs: z.int().nullable().meta({ description: 'What 95 % of the last runs took; null: it has none.' }),
        before: z.int(),
        after: z.int(),
      })
      .meta({ description: 'Instants at which, by that duration, the run before still goes on.' }),
  })
  .meta({ id: 'JobSimulation', description: 'What a change would do. Nothing is written.' })

const toSide = (occurrences: readonly Occurrence[]): z.output<typeof sideWire> => ({
  count: occurrences.length,
  first: occurrences.slice(0, listedMax).map(toWire),
})

export const simulationToWire = ({ job, from, diff, durations }: Simulation): z.output<typeof simulationWire> => ({
  job: jobToWire(job),
  from: toInstant(from),
  until: diff.until.toString({ fractionalSecondDigits: 3 }),
  added: toSide(diff.added),
  removed: toSide(diff.removed),
  kept: diff.kept,
  overlaps: { durationMs: durations?.p95Ms ?? null, ...diff.overlaps },
})
