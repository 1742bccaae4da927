import type { Meridian } from '@meridian/sdk'
import { choicesOf } from '#lib/schedule/calendars.ts'

/** What the form of a job offers by name: queues and calendars. */
export async function formChoices(sdk: Meridian) {
  const [queues, calendars] = await Promise.all([
    sdk.queues.list({ limit: 100 }).page(),
    sdk.calendars.list({ limit: 100 }).page(),
  ])
  return { queues: queues.data.map(({ name }) => name), calendars: choicesOf(calendars.data) }
}
