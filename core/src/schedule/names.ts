const months = 'January February March April May June July August September October November December'.split(' ')
const weekdays = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

/** The name of a month; 1 is January. */
export const monthWords = (month: number): string => months[month - 1] ?? ''

/** The name of a weekday; 0 is Sunday. */
export const weekdayWords = (weekday: number): string => weekdays[weekday] ?? ''
