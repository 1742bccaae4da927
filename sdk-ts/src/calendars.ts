import {
  type CallOptions,
  type Connection,
  type CreateOptions,
  call,
  create,
  type EditOptions,
  edit,
  listing,
  type Query,
  value,
  type WithDates,
} from './connection.ts'
import * as api from './generated/sdk.gen.ts'
import type * as wire from './generated/types.gen.ts'

/** Calendars of the organisation, by their names. */
export const calendars = (to: Connection) => ({
  create: (body: wire.NewCalendar, options?: CreateOptions) =>
    value(api.createCalendar({ ...create(to, options), body })),
  list: (query?: Query<wire.ListCalendarsData>, options?: CallOptions) =>
    listing(query, (query) => api.listCalendars({ ...call(to, options), query })),
  /** With the jobs that use it. */
  get: (calendarName: string, options?: CallOptions) =>
    value(api.getCalendar({ ...call(to, options), path: { calendarName } })),
  update: (calendarName: string, body: wire.CalendarChanges, options?: EditOptions) =>
    value(api.updateCalendar({ ...edit(to, options), path: { calendarName }, body })),
  delete: async (calendarName: string, options?: EditOptions): Promise<void> => {
    await value(api.deleteCalendar({ ...edit(to, options), path: { calendarName } }))
  },
  versions: (calendarName: string, query?: Query<wire.ListCalendarVersionsData>, options?: CallOptions) =>
    listing(query, (query) => api.listCalendarVersions({ ...call(to, options), path: { calendarName }, query })),
  version: (calendarName: string, version: number, options?: CallOptions) =>
    value(api.getCalendarVersion({ ...call(to, options), path: { calendarName, version } })),
  /** The events of an iCalendar file as the days and ranges of a calendar. Saves nothing. */
  readIcs: (body: WithDates<wire.ReadIcs, 'from' | 'until'>, options?: CallOptions) =>
    value(api.readIcs({ ...call(to, options), body: body as wire.ReadIcs })),
  /** The days that a calendar holds, saved or not. */
  days: async (body: wire.CalendarDaysRequest, options?: CallOptions) =>
    (await value(api.previewCalendarDays({ ...call(to, options), body }))).data,
  /** Countries whose holidays are known; with a country its states, with a state as well the regions of that. */
  holidayPlaces: async (query: Query<wire.ListHolidayPlacesData> = {}, options?: CallOptions) =>
    (await value(api.listHolidayPlaces({ ...call(to, options), query }))).data,
})

type NewBlackout = Omit<wire.NewBlackout, 'from' | 'until'> & { from: string | Date; until: string | Date }

/** Stretches in which no schedule starts anything. */
export const blackouts = (to: Connection) => ({
  create: (body: NewBlackout, options?: CreateOptions) =>
    value(api.createBlackout({ ...create(to, options), body: body as wire.NewBlackout })),
  list: (query?: Query<wire.ListBlackoutsData>, options?: CallOptions) =>
    listing(query, (query) => api.listBlackouts({ ...call(to, options), query })),
  get: (blackoutId: string, options?: CallOptions) =>
    value(api.getBlackout({ ...call(to, options), path: { blackoutId } })),
  update: (blackoutId: string, body: WithDates<wire.BlackoutChanges, 'from' | 'until'>, options?: EditOptions) =>
    value(api.updateBlackout({ ...edit(to, options), path: { blackoutId }, body: body as wire.BlackoutChanges })),
  delete: async (blackoutId: string, options?: EditOptions): Promise<void> => {
    await value(api.deleteBlackout({ ...edit(to, options), path: { blackoutId } }))
  },
  /** The starts to come that fall into a stretch of time. Saves nothing. */
  preview: (body: WithDates<wire.BlackoutStretch, 'from' | 'until'>, options?: CallOptions) =>
    value(api.previewBlackout({ ...call(to, options), body: body as wire.BlackoutStretch })),
})

/** What schedules will do. */
export const forecast = (to: Connection) => ({
  /** Starts and work in slices of time, against capacity. */
  load: (query?: Query<wire.GetForecastData>, options?: CallOptions) =>
    value(api.getForecast({ ...call(to, options), ...(query === undefined ? {} : { query }) })),
  /** How many runs start when. */
  starts: (query?: Query<wire.GetForecastStartsData>, options?: CallOptions) =>
    value(api.getForecastStarts({ ...call(to, options), ...(query === undefined ? {} : { query }) })),
  /** Jobs that start at the very same time, with a way to spread them. */
  collisions: async (query?: Query<wire.ListCollisionsData>, options?: CallOptions) =>
    (await value(api.listCollisions({ ...call(to, options), ...(query === undefined ? {} : { query }) }))).data,
})

export const timeZoneData = (to: Connection) => ({
  /** The version in use, and those that the schedules of the project ran under. */
  get: (options?: CallOptions) => value(api.getTimeZoneData(call(to, options))),
  /** Which schedules another version moves, before it is applied. */
  report: (query?: Query<wire.ReportTimeZoneDataData>, options?: CallOptions) =>
    value(api.reportTimeZoneData({ ...call(to, options), ...(query === undefined ? {} : { query }) })),
})
