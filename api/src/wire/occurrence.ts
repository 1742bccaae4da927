import { z } from 'zod'
import { instant } from './values.ts'

/** An instant of a schedule that is only computed. */
export const previewedOccurrenceWire = z
  .strictObject({
    nominalAt: instant,
    effectiveAt: instant.meta({ description: 'When it runs.' }),
    skipped: z.enum(['calendar', 'blackout']).optional().meta({ description: 'Why it does not run.' }),
    local: z.string().meta({ description: 'The wall clock.', examples: ['2026-03-29T06:25:00'] }),
    offset: z.string().meta({ examples: ['+01:00'] }),
    notes: z.array(z.string()).meta({ description: 'What a clock change, calendar, jitter or blackout did to it.' }),
  })
  .meta({ id: 'PreviewedOccurrence' })
