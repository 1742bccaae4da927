import type { Operation } from './http/operation.ts'
import { acceptOperations } from './routes/accept.ts'
import { alarmOperations } from './routes/alarms.ts'
import { blackoutOperations } from './routes/blackouts.ts'
import { breakerOperations } from './routes/breakers.ts'
import { calendarOperations } from './routes/calendars.ts'
import { certificateOperations } from './routes/certificates.ts'
import { deadLetterOperations } from './routes/dead-letters.ts'
import { eventOperations } from './routes/events.ts'
import { fairnessOperations } from './routes/fairness.ts'
import { forecastOperations } from './routes/forecast.ts'
import { importOperations } from './routes/imports.ts'
import { jobHistoryOperations } from './routes/job-history.ts'
import { jobOperations } from './routes/jobs.ts'
import { keyOperations } from './routes/keys.ts'
import { limitOperations } from './routes/limits.ts'
import { bulkOperations } from './routes/operations.ts'
import { pingOperations } from './routes/pings.ts'
import { projectOperations } from './routes/projects.ts'
import { queueOperations } from './routes/queues.ts'
import { responseBodyOperations } from './routes/response-body.ts'
import { runOperations } from './routes/runs.ts'
import { scheduleOperations } from './routes/schedules.ts'
import { sessionOperations } from './routes/sessions.ts'
import { statsOperations } from './routes/stats.ts'
import { systemOperations } from './routes/system.ts'
import { testClockOperations } from './routes/test-clocks.ts'
import { timeZoneDataOperations } from './routes/time-zone-data.ts'
import { whyOperations } from './routes/why.ts'

/** Everything the API can do, in the order of the document. A fixed path comes before a parameter in its place. */
export const operations: readonly Operation[] = [
  ...jobOperations,
  ...jobHistoryOperations,
  ...acceptOperations,
  ...runOperations,
  ...responseBodyOperations,
  ...whyOperations,
  ...deadLetterOperations,
  ...scheduleOperations,
  ...certificateOperations,
  ...timeZoneDataOperations,
  ...fairnessOperations,
  ...forecastOperations,
  ...calendarOperations,
  ...blackoutOperations,
  ...bulkOperations,
  ...importOperations,
  ...pingOperations,
  ...testClockOperations,
  ...queueOperations,
  ...breakerOperations,
  ...limitOperations,
  ...projectOperations,
  ...keyOperations,
  ...sessionOperations,
  ...statsOperations,
  ...eventOperations,
  ...alarmOperations,
  ...systemOperations,
]
