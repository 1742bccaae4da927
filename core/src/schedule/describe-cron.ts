import { type CronExpression, valuesOf } from './cron.ts'
import { expandRange, type FieldName, fieldRules, isFree } from './cron-field.ts'
import { monthWords, weekdayWords } from './names.ts'
import { listWords, ordinal, spanWords, timeWords } from './words.ts'

/** More times of day than this are told as a pattern instead of one by one. */
const listedMax = 4

/** An expression in plain words, without zone: `At 06:25 every day`. */
export function describeCron(cron: CronExpression): string {
  const listed = timesOfDay(cron)
  const days = dayWords(cron)
  const years = spanWords(valuesOf(cron, 'year'), String)
  const inYears = cron.fields.year === undefined || isFree(cron.fields.year) ? '' : ` in ${years}`
  if (days !== '') return `${listed ?? timePattern(cron)} ${days}${inYears}`
  return `${listed === undefined ? timePattern(cron) : `${listed} every day`}${inYears}`
}

/** The step of a time field when it really is "every n": it divides the field, so it never stumbles. */
export function evenStep(cron: CronExpression, name: 'second' | 'minute' | 'hour'): number | undefined {
  const [item, ...rest] = cron.fields[name].items
  const isEven = item?.kind === 'star' && rest.length === 0 && (fieldRules[name].max + 1) % item.step === 0
  return isEven ? item.step : undefined
}

const wallTime = (hour: number, minute: number, second = 0): number => Date.UTC(1970, 0, 1, hour, minute, second)

function timesOfDay(cron: CronExpression): string | undefined {
  const [hours, minutes, seconds] = [valuesOf(cron, 'hour'), valuesOf(cron, 'minute'), valuesOf(cron, 'second')]
  if (cron.followsRealTime || hours.length * minutes.length * seconds.length > listedMax) return undefined
  const walls = hours.flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => wallTime(hour, minute, second))),
  )
  return `At ${listWords(walls.map((wall) => timeWords(wall)))}`
}

function timePattern(cron: CronExpression): string {
  const text = valuesOf(cron, 'second').join() === '0' ? minutePattern(cron) : secondPattern(cron)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function minutePattern(cron: CronExpression): string {
  const [minuteStep, hourStep] = [evenStep(cron, 'minute'), evenStep(cron, 'hour')]
  if (minuteStep !== undefined) return `${every(minuteStep, 'minute')}${hourWords(cron)}`
  const [hours, minutes] = [valuesOf(cron, 'hour'), valuesOf(cron, 'minute')]
  if (hourStep !== undefined) return `${every(hourStep, 'hour')}, at ${counted(cron, 'minute')}`
  const [from, to] = [hours.at(0) ?? 0, hours.at(-1) ?? 0]
  if (minutes.length > 1 || to - from !== hours.length - 1)
    return `at ${counted(cron, 'minute')} in ${counted(cron, 'hour')}`
  const [minute = 0] = minutes
  return `every hour from ${timeWords(wallTime(from, minute))} to ${timeWords(wallTime(to, minute))}`
}

function secondPattern(cron: CronExpression): string {
  const step = evenStep(cron, 'second')
  const text = step === undefined ? `at ${counted(cron, 'second')}` : every(step, 'second')
  if (!isFree(cron.fields.minute)) return `${text} in ${counted(cron, 'minute')}${hourWords(cron) || ' of every hour'}`
  return `${text}${step === undefined ? ' of every minute' : ''}${hourWords(cron)}`
}

function hourWords(cron: CronExpression): string {
  if (isFree(cron.fields.hour)) return ''
  const hours = valuesOf(cron, 'hour')
  const [from, to] = [hours.at(0) ?? 0, hours.at(-1) ?? 0]
  if (!isFree(cron.fields.minute) || to - from !== hours.length - 1) return ` in ${counted(cron, 'hour')}`
  return ` from ${timeWords(wallTime(from, 0))} to ${timeWords(wallTime(to, 59))}`
}

function every(step: number, unit: string): string {
  return step === 1 ? `every ${unit}` : `every ${step} ${unit}s`
}

function counted(cron: CronExpression, name: FieldName): string {
  const values = valuesOf(cron, name)
  return `${name}${values.length === 1 ? '' : 's'} ${spanWords(values, String)}`
}

function dayWords(cron: CronExpression): string {
  const { dayOfMonth, month, dayOfWeek } = cron.fields
  const named = spanWords(valuesOf(cron, 'month'), monthWords)
  const [inMonths, ofMonths] = isFree(month) ? ['', ' of every month'] : [` in ${named}`, ` of ${named}`]
  const dates = isFree(dayOfMonth) ? '' : `on ${dateWords(cron)}${ofMonths}`
  const days = isFree(dayOfWeek) ? '' : `on ${weekdaysWords(cron)}`
  if (dates !== '' && days !== '')
    return cron.days === 'both' ? `${dates}, only when that is ${days.slice(3)}` : `${dates} or ${days}${inMonths}`
  if (days !== '') return `${days}${inMonths}`
  return dates === '' && inMonths !== '' ? `every day${inMonths}` : dates
}

function dateWords(cron: CronExpression): string {
  const special = cron.fields.dayOfMonth.items.flatMap((item) => {
    if ('before' in item) return [fromEndWords(item.kind === 'last-weekday', item.before)]
    return item.kind === 'nearest-weekday' ? [`the Monday to Friday nearest the ${ordinal(item.day)}`] : []
  })
  const plain = spanWords(valuesOf(cron, 'dayOfMonth'), (day) => `the ${ordinal(day)}`)
  return listWords(plain === '' ? special : [plain, ...special])
}

function fromEndWords(isWeekday: boolean, before: number): string {
  if (before === 0) return isWeekday ? 'the last day that is Monday to Friday' : 'the last day'
  const day = `the day ${before} day${before === 1 ? '' : 's'} before the last`
  return isWeekday ? `the Monday to Friday nearest ${day}` : day
}

function weekdaysWords(cron: CronExpression): string {
  const special = cron.fields.dayOfWeek.items.flatMap((item) => {
    if (item.kind !== 'nth') return []
    const place = item.nth === 'last' ? 'last' : ordinal(item.nth)
    return expandRange(item, fieldRules.dayOfWeek).map((day) => `the ${place} ${weekdayWords(day)} of the month`)
  })
  const days = valuesOf(cron, 'dayOfWeek')
  // Monday first, so that a weekend is one run of days and not both ends of the list.
  const fromMonday = days.map((day) => (day + 6) % 7).sort((a, b) => a - b)
  const plain = days.length === 7 ? 'any day' : spanWords(fromMonday, (day) => weekdayWords((day + 1) % 7))
  return listWords(plain === '' ? special : [plain, ...special])
}
