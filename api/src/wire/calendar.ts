import type { Blackout } from '@meridian/core/calendar/blackouts'
import { type Calendar, type CalendarVersion, calendarDefinitionValue } from '@meridian/core/calendar/calendar'
import type { ListedCalendar } from '@meridian/core/calendar/list'
import type { CalendarUse } from '@meridian/core/calendar/users'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { actor, instant, toActor, toInstant, wireId } from './values.ts'

const contents = calendarDefinitionValue.shape

export const calendarWire = z
  .strictObject({
    id: wireId('cal'),
    name: z.string(),
    version: z.int().meta({ description: 'Raised by every change, each of which is kept.' }),
    ...contents,
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Calendar', description: 'A named set of days and hours: everything that one of its parts holds.' })

export const listedCalendarWire = calendarWire
  .extend({ jobCount: z.int().meta({ description: 'Jobs of all projects whose schedules name it.' }) })
  .meta({ id: 'ListedCalendar' })

export const calendarDetailsWire = calendarWire
  .extend({
    use: z.strictObject({
      count: z.int().meta({ description: 'Jobs of all projects whose schedules name it.' }),
      jobs: z
        .array(z.strictObject({ id: wireId('job'), name: z.string() }))
        .meta({ description: 'Those of this project, at most 50.' }),
    }),
  })
  .meta({ id: 'CalendarDetails' })

export const calendarVersionWire = z
  .strictObject({ version: z.int(), ...contents, createdBy: actor, createdAt: instant })
  .meta({ id: 'CalendarVersion' })

export const blackoutWire = z
  .strictObject({
    id: wireId('blk'),
    isForAll: z.boolean().meta({ description: 'It holds in all projects of the organisation.' }),
    name: z.string(),
    from: instant,
    until: instant.meta({ description: 'Exclusive.' }),
    roll: z.enum(['skip', 'next']),
    createdBy: actor,
    createdAt: instant,
    updatedAt: instant,
    version: z.int(),
  })
  .meta({ id: 'Blackout', description: 'A stretch of time in which no schedule starts anything.' })

export const calendarToWire = (calendar: Calendar): z.output<typeof calendarWire> => ({
  ...calendar,
  id: toWireId('cal', calendar.id),
  createdAt: toInstant(calendar.createdAt),
  updatedAt: toInstant(calendar.updatedAt),
})

export const listedCalendarToWire = ({
  jobCount,
  ...calendar
}: ListedCalendar): z.output<typeof listedCalendarWire> => ({ ...calendarToWire(calendar), jobCount })

export const useToWire = (use: CalendarUse): z.output<typeof calendarDetailsWire>['use'] => ({
  count: use.count,
  jobs: use.jobs.map(({ id, name }) => ({ id: toWireId('job', id), name })),
})

export const calendarVersionToWire = (version: CalendarVersion): z.output<typeof calendarVersionWire> => ({
  ...version,
  createdBy: toActor(version.createdBy),
  createdAt: toInstant(version.createdAt),
})

export const blackoutToWire = ({
  id,
  projectId,
  fromAt,
  untilAt,
  ...blackout
}: Blackout): z.output<typeof blackoutWire> => ({
  ...blackout,
  id: toWireId('blk', id),
  isForAll: projectId === null,
  from: toInstant(fromAt),
  until: toInstant(untilAt),
  createdBy: toActor(blackout.createdBy),
  createdAt: toInstant(blackout.createdAt),
  updatedAt: toInstant(blackout.updatedAt),
})
