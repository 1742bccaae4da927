import { previewSchedule } from '@meridian/core/schedule/preview'
import { z } from 'zod'
import { needs, operation } from '../http/operation.ts'
import { schedule } from '../wire/components.ts'
import { instant, instantInput } from '../wire/values.ts'

const countMax = 500

const preview = operation({
  id: 'previewSchedule',
  method: 'post',
  path: '/v1/schedules/preview',
  tag: 'Schedules',
  summary: 'See the next instants of a schedule',
  description: 'As a job created at `after` (now, when absent) would have them, with what clock changes do to them.',
  access: needs('jobs:read'),
  body: z
    .strictObject({
      schedule,
      after: instantInput.optional(),
      count: z.int().min(1).max(countMax).default(5),
    })
    .meta({ id: 'PreviewSchedule' }),
  example: {
    schedule: { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' },
    after: '2026-03-28T12:00:00.000Z',
    count: 2,
  },
  answer: {
    status: 200,
    description: 'The instants, the schedule in words, and what deserves a second look.',
    schema: z
      .strictObject({
        occurrences: z.array(
          z
            .strictObject({
              nominalAt: instant,
              effectiveAt: instant,
              local: z.string().meta({ description: 'The wall clock.', examples: ['2026-03-29T06:25:00'] }),
              offset: z.string().meta({ examples: ['+01:00'] }),
              notes: z.array(z.string()).meta({ description: 'What a clock change did to it.' }),
            })
            .meta({ id: 'PreviewedOccurrence' }),
        ),
        description: z.string(),
        warnings: z.array(z.string()),
      })
      .meta({ id: 'SchedulePreview' }),
  },
  async handle({ body, services }) {
    const after = Temporal.Instant.fromEpochMilliseconds(body.after?.getTime() ?? services.clock.nowMs())
    return previewSchedule(body.schedule, after, body.count)
  },
})

export const scheduleOperations = [preview]
