import { previewDraft } from '@meridian/core/calendar/preview'
import { z } from 'zod'
import { needs, operation } from '../http/operation.ts'
import { schedule } from '../wire/components.ts'
import { previewedOccurrenceWire } from '../wire/occurrence.ts'
import { idReference, instantInput } from '../wire/values.ts'

const countMax = 500

const preview = operation({
  id: 'previewSchedule',
  method: 'post',
  path: '/v1/schedules/preview',
  tag: 'Schedules',
  summary: 'See the next instants of a schedule',
  description:
    'As a job created at `after` (now, when absent) would have them, with what clock changes, calendars and blackouts do to them.',
  access: needs('jobs:read'),
  body: z
    .strictObject({
      schedule,
      after: instantInput.optional(),
      count: z.int().min(1).max(countMax).default(5),
      jobId: idReference('job')
        .optional()
        .meta({ description: 'With the jitter, window and `H` of that job; a new job has its own.' }),
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
        occurrences: z.array(previewedOccurrenceWire),
        description: z.string(),
        warnings: z.array(z.string()),
      })
      .meta({ id: 'SchedulePreview' }),
  },
  async handle({ ctx, body, services }) {
    const { schedule, count, jobId } = body
    return previewDraft(ctx, { schedule, count, jobId, afterMs: body.after?.getTime() ?? services.clock.nowMs() })
  },
})

export const scheduleOperations = [preview]
