import { everyWords } from './every.ts'
import type { Schedule } from './schedule.ts'
import { scheduleToSentence, weekdayNames } from './sentence.ts'

/**
 * A schedule in the fewest words, for a column: `every day at 06:25`. Falls back to the cron line itself, which is
 * shorter than any sentence about it; the API's description is for the place that has room.
 */
export function scheduleWords(schedule: Schedule | null): { text: string; isCode: boolean } {
  const words = (text: string) => ({ text, isCode: false })
  if (schedule === null) return words('on demand')
  if (schedule.type === 'at') return words(`once, ${schedule.at.slice(0, 16).replace('T', ' ')}`)
  if (schedule.type === 'every') return words(everyWords(schedule.every))
  if (schedule.type === 'rrule') {
    const rule = [schedule.rrule].flat()[0] ?? ''
    return { text: rule.replace(/^RRULE:/, ''), isCode: true }
  }
  const sentence = scheduleToSentence(schedule)
  if (!sentence) return { text: schedule.cron, isCode: true }
  switch (sentence.unit) {
    case 'minute':
      return words(sentence.count === 1 ? 'every minute' : `every ${sentence.count} min`)
    case 'hour':
      return words(
        sentence.count === 1
          ? `every hour at :${String(sentence.minute).padStart(2, '0')}`
          : `every ${sentence.count} h`,
      )
    case 'day':
      return words(`every day at ${sentence.time}`)
    case 'weekday':
      return words(`weekdays at ${sentence.time}`)
    case 'week':
      return words(`${sentence.weekdays.map((day) => weekdayNames[day]).join(', ')} at ${sentence.time}`)
    case 'month':
      return words(
        `${sentence.monthDay === 'last' ? 'last day' : `day ${sentence.monthDay}`} of the month at ${sentence.time}`,
      )
  }
}
