import { withIdempotency } from '@meridian/core/access/idempotency'
import { calendarChangesValue, calendarDefinitionValue, calendarNameValue } from '@meridian/core/calendar/calendar'
import { createCalendar, newCalendarValue } from '@meridian/core/calendar/create'
import { daysOfCalendar, listHolidayPlaces } from '@meridian/core/calendar/days'
import { deleteCalendar } from '@meridian/core/calendar/delete'
import { getCalendar, getCalendarVersion, listCalendars, listCalendarVersions } from '@meridian/core/calendar/list'
import { icsTextValue, readIcs } from '@meridian/core/calendar/read-ics'
import { updateCalendar } from '@meridian/core/calendar/update'
import { AppError, notFound } from '@meridian/core/kernel/errors'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { expectedVersion } from '../http/etag.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import {
  calendarDetailsWire,
  calendarToWire,
  calendarVersionToWire,
  calendarVersionWire,
  calendarWire,
  listedCalendarToWire,
  listedCalendarWire,
  useToWire,
} from '../wire/calendar.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { instantInput, wholeNumber } from '../wire/values.ts'

const calendarName = z
  .string()
  .transform((name) => {
    if (!calendarNameValue.safeParse(name).success) throw notFound('calendar')
    return name
  })
  .meta({ type: 'string', examples: ['office-hours'] })
const calendarParams = z.object({ calendarName })

const exampleCalendar = {
  weekly: [{ days: ['MON', 'TUE', 'WED', 'THU', 'FRI'], from: '09:00', until: '17:00' }],
}

const create = operation({
  id: 'createCalendar',
  method: 'post',
  path: '/v1/calendars',
  tag: 'Calendars',
  summary: 'Create a calendar',
  description: 'For all projects of the organisation. Schedules name it in `onlyOn` and `notOn`.',
  access: needs('calendars:write'),
  body: newCalendarValue.meta({ id: 'NewCalendar' }),
  example: { name: 'office-hours', ...exampleCalendar },
  isCreate: true,
  answer: { status: 201, description: 'The calendar.', schema: calendarWire },
  problems: ['conflict', 'quota-exceeded'],
  async handle({ ctx, body, idempotency }) {
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const calendar = await createCalendar(tx, body)
      return { subject: calendar.id, answer: calendarToWire(calendar) }
    })
    return new Reply(answer, {
      version: answer.version,
      ...(replayed ? { headers: { 'idempotency-replayed': 'true' } } : {}),
    })
  },
})

const list = operation({
  id: 'listCalendars',
  method: 'get',
  path: '/v1/calendars',
  tag: 'Calendars',
  summary: 'List calendars, oldest first',
  access: needs('calendars:read'),
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of calendars.', schema: pageOf(listedCalendarWire) },
  handle: async ({ ctx, query }) => toPage(await listCalendars(ctx, toPageRequest(query)), listedCalendarToWire),
})

const get = operation({
  id: 'getCalendar',
  method: 'get',
  path: '/v1/calendars/{calendarName}',
  tag: 'Calendars',
  summary: 'Get a calendar, and who uses it',
  access: needs('calendars:read'),
  params: calendarParams,
  hasEtag: true,
  answer: { status: 200, description: 'The calendar.', schema: calendarDetailsWire },
  async handle({ ctx, params }) {
    const { use, ...calendar } = await getCalendar(ctx, params.calendarName)
    const answer = { ...calendarToWire(calendar), use: useToWire(use) }
    return new Reply(answer, { version: calendar.version })
  },
})

const update = operation({
  id: 'updateCalendar',
  method: 'patch',
  path: '/v1/calendars/{calendarName}',
  tag: 'Calendars',
  summary: 'Change a calendar',
  description:
    'Makes a new version when anything differs. What schedules that use it had written ahead is taken back and decided again.',
  access: needs('calendars:write'),
  params: calendarParams,
  body: calendarChangesValue.meta({
    id: 'CalendarChanges',
    description: 'What is left out stays, what is given replaces the whole field.',
  }),
  example: { ...exampleCalendar, dates: ['2026-12-24'] },
  isGuarded: true,
  answer: { status: 200, description: 'The calendar.', schema: calendarWire },
  async handle({ ctx, params, body, header }) {
    const changes = { ...body, expectedVersion: expectedVersion(header('if-match')) }
    const calendar = await updateCalendar(ctx, params.calendarName, changes)
    return new Reply(calendarToWire(calendar), { version: calendar.version })
  },
})

const remove = operation({
  id: 'deleteCalendar',
  method: 'delete',
  path: '/v1/calendars/{calendarName}',
  tag: 'Calendars',
  summary: 'Delete a calendar',
  description: 'Refused, with the jobs, while schedules use it.',
  access: needs('calendars:write'),
  params: calendarParams,
  isGuarded: true,
  answer: { status: 204, description: 'It is gone.' },
  problems: ['conflict'],
  async handle({ ctx, params, header }) {
    try {
      await deleteCalendar(ctx, params.calendarName, { expectedVersion: expectedVersion(header('if-match')) })
    } catch (error) {
      throw error instanceof AppError && error.code === 'conflict' ? namingJobs(error) : error
    }
  },
})

/** The jobs in the way by their ids on the wire. */
function namingJobs({ code, message, extra }: AppError): AppError {
  const jobs = extra.current?.['jobs']
  if (!Array.isArray(jobs)) return new AppError(code, message, extra)
  const named = (jobs as { id: string; name: string }[]).map(({ id, name }) => ({ id: toWireId('job', id), name }))
  return new AppError(code, message, { ...extra, current: { ...extra.current, jobs: named } })
}

const listVersions = operation({
  id: 'listCalendarVersions',
  method: 'get',
  path: '/v1/calendars/{calendarName}/versions',
  tag: 'Calendars',
  summary: 'List the versions of a calendar, newest first',
  access: needs('calendars:read'),
  params: calendarParams,
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of versions.', schema: pageOf(calendarVersionWire) },
  handle: async ({ ctx, params, query }) =>
    toPage(await listCalendarVersions(ctx, params.calendarName, toPageRequest(query)), calendarVersionToWire),
})

const getVersion = operation({
  id: 'getCalendarVersion',
  method: 'get',
  path: '/v1/calendars/{calendarName}/versions/{version}',
  tag: 'Calendars',
  summary: 'Get a version of a calendar',
  access: needs('calendars:read'),
  params: z.object({ calendarName, version: wholeNumber(1, 1_000_000_000) }),
  answer: { status: 200, description: 'The version.', schema: calendarVersionWire },
  handle: async ({ ctx, params }) =>
    calendarVersionToWire(await getCalendarVersion(ctx, params.calendarName, params.version)),
})

const exampleIcs = [
  'BEGIN:VCALENDAR',
  'BEGIN:VEVENT',
  'SUMMARY:Company day',
  'DTSTART;VALUE=DATE:20261224',
  'END:VEVENT',
  'END:VCALENDAR',
].join('\n')

const fromIcs = operation({
  id: 'readIcs',
  method: 'post',
  path: '/v1/calendars/read-ics',
  tag: 'Calendars',
  summary: 'Read an iCalendar file as a calendar',
  description: 'Saves nothing: look at it, then create or change a calendar with it.',
  access: needs('calendars:read'),
  body: z
    .strictObject({
      ics: icsTextValue.meta({ description: 'The file: its events become days and ranges.' }),
      timezone: z.string().max(64).meta({ description: 'Whose wall clock the calendar is on.' }),
      from: instantInput.optional().meta({ description: 'Repeated events are written out from here (now).' }),
      until: instantInput.optional().meta({ description: 'To here (two years after `from`), at most 10 years.' }),
    })
    .meta({ id: 'ReadIcs' }),
  example: { ics: exampleIcs, timezone: 'Europe/London' },
  answer: {
    status: 200,
    description: 'What a calendar would hold, and what was left out.',
    schema: z
      .strictObject({
        dates: calendarWire.shape.dates,
        ranges: calendarWire.shape.ranges,
        problems: z.array(z.string()).meta({ description: 'What was left out, and why.' }),
      })
      .meta({ id: 'IcsCalendar' }),
  },
  async handle({ ctx, body }) {
    return readIcs(ctx, body)
  },
})

const exampleDays = { from: '2026-12-01', until: '2026-12-31' }

const days = operation({
  id: 'previewCalendarDays',
  method: 'post',
  path: '/v1/calendars/days',
  tag: 'Calendars',
  summary: 'See which days a calendar holds',
  description: 'Of a calendar as it is written here, saved or not.',
  access: needs('calendars:read'),
  body: z
    .strictObject({
      calendar: calendarDefinitionValue.omit({ description: true }).meta({ id: 'CalendarContents' }),
      from: z.string().meta({ format: 'date', examples: [exampleDays.from] }),
      until: z
        .string()
        .meta({ format: 'date', examples: [exampleDays.until], description: 'Included; 800 days at most.' }),
    })
    .meta({ id: 'CalendarDaysRequest' }),
  example: { calendar: { holidays: [{ country: 'GB' }] }, ...exampleDays },
  answer: {
    status: 200,
    description: 'The days, in their order. Those that it does not hold are left out.',
    schema: z.strictObject({
      data: z.array(
        z
          .strictObject({
            date: z.string().meta({ format: 'date', examples: ['2026-12-25'] }),
            hours: z
              .array(z.strictObject({ from: z.string(), until: z.string() }))
              .meta({ description: 'From 00:00 until 24:00 when it is the whole day.' }),
            holiday: z
              .string()
              .nullable()
              .meta({ examples: ['Christmas Day'] }),
          })
          .meta({ id: 'CalendarDay' }),
      ),
    }),
  },
  async handle({ ctx, body }) {
    const { calendar: definition, from, until } = body
    return { data: await daysOfCalendar(ctx, { definition, from, until }) }
  },
})

const places = operation({
  id: 'listHolidayPlaces',
  method: 'get',
  path: '/v1/holiday-places',
  tag: 'Calendars',
  summary: 'List the places whose holidays are known',
  description: 'Countries; with `country` its states, with `state` as well the regions of that.',
  access: needs('calendars:read'),
  query: z.strictObject({ country: z.string().max(2).optional(), state: z.string().max(20).optional() }),
  answer: {
    status: 200,
    description: 'The places, by their names.',
    schema: z.strictObject({
      data: z.array(
        z
          .strictObject({
            code: z.string().meta({ description: 'As `holidays` of a calendar takes it.', examples: ['DE'] }),
            name: z.string().meta({ examples: ['Germany'] }),
          })
          .meta({ id: 'HolidayPlace' }),
      ),
    }),
  },
  handle: async ({ ctx, query }) => ({ data: await listHolidayPlaces(ctx, query) }),
})

export const calendarOperations = [create, list, fromIcs, days, get, update, remove, listVersions, getVersion, places]
