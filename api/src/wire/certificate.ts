import { z } from 'zod'
import { schedule } from './components.ts'
import { instant, wireId } from './values.ts'

const digest = z.string().regex(/^[0-9a-f]{64}$/)

export const certificateWire = z
  .strictObject({
    jobId: wireId('job'),
    projectId: wireId('prj'),
    tenantId: wireId('ten'),
    from: instant,
    to: instant.meta({ description: 'Exclusive.' }),
    issuedAt: instant,
    tzVersion: z.string().meta({ description: 'Of the time zone data of the process that computed.' }),
    spans: z
      .array(
        z.strictObject({
          from: instant.meta({ description: 'It holds the instants after this,' }),
          until: instant.nullable().meta({ description: 'up to this; null: it still does.' }),
          jobVersion: z.int(),
          tzVersion: z.string(),
          isPaused: z.boolean(),
          schedule: schedule.nullable().meta({ description: 'With its anchor; null: the job had none.' }),
          isRecomputed: z
            .boolean()
            .meta({ description: 'False: its time zone data is not here, so its instants were not computed again.' }),
        }),
      )
      .meta({ description: 'What the schedule was, and the time zone data that it was decided with.' }),
    expected: z
      .strictObject({ count: z.int(), digest: digest.meta({ description: 'SHA-256 of a line for each instant.' }) })
      .meta({ description: 'The instants of the schedule.' }),
    ledger: z
      .strictObject({
        rows: z.int(),
        count: z.int().meta({ description: 'Instants that the rows tell of.' }),
        digest: digest.meta({ description: 'SHA-256 of a line for each row: instant, count, outcome, reason or `-`.' }),
      })
      .meta({ description: 'What the ledger tells.' }),
    outcomes: z.strictObject({ pending: z.int(), run: z.int(), skipped: z.int(), missed: z.int() }),
    undecided: z.int().meta({ description: 'Instants not reached yet, or held open by a pause.' }),
    atSeams: z.int().meta({ description: 'Instants within a second in which the schedule was changed.' }),
    unchecked: z.int().meta({ description: 'Told by rows of spans that were not computed again.' }),
    mismatchCount: z.int(),
    mismatches: z
      .array(z.strictObject({ at: instant, kind: z.enum(['missing', 'unexpected', 'miscounted']) }))
      .meta({ description: 'The first 100.' }),
    isComplete: z
      .boolean()
      .meta({ description: 'Every instant was computed again, and the ledger tells of each exactly once.' }),
  })
  .meta({ id: 'Certificate' })
