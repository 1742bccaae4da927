/** Days and dates as whole numbers: a day is its distance from 1970-01-01 in the Gregorian calendar. */
export interface CivilDate {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  readonly day: number
}

export const dayMs = 86_400_000

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

const monthLengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export function daysInMonth(year: number, month: number): number {
  return month === 2 && isLeapYear(year) ? 29 : (monthLengths[month - 1] ?? 0)
}

export const daysInYear = (year: number): number => (isLeapYear(year) ? 366 : 365)

// Years are counted from March here, so that the leap day is the last of its year; 719468 is 1970-01-01.
// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".

/** The day of a date. */
export function dayOf({ year, month, day }: CivilDate): number {
  const marchYear = month <= 2 ? year - 1 : year
  const era = Math.floor(marchYear / 400)
  const yearOfEra = marchYear - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
}

/** The date of a day. */
export function dateOf(day: number): CivilDate {
  const shifted = day + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1,
  }
}

/** 0 is Sunday. */
export const weekdayOf = (day: number): number => modulo(day + 4, 7)

/** The day that a wall-clock time is on. */
export const dayOfWall = (wall: number): number => Math.floor(wall / dayMs)

/** Never negative, unlike `%`. */
export const modulo = (value: number, size: number): number => ((value % size) + size) % size
