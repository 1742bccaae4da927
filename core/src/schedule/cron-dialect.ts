import type { CronField, FieldName } from './cron-field.ts'

export const cronDialects = ['vixie', 'quartz', 'kubernetes', 'eventbridge'] as const
export type CronDialectName = (typeof cronDialects)[number]

/** How a scheduler reads cron expressions, where they differ. */
export interface CronDialect {
  /** The fields in order, for each number of them that there may be. */
  readonly layouts: readonly (readonly FieldName[])[]
  readonly layoutWords: string
  readonly hasNicknames: boolean
  readonly zoneAdvice: string
  readonly weekdays: { readonly sunday: 0 | 1; readonly max: number }
  readonly years: { readonly min: number; readonly max: number }
  /** `5/15`: refused, or from 5 to the end of the field; with `interval` the first value counts as a `*`. */
  readonly bareStep: 'refused' | 'range' | 'interval'
  /** `22-2` goes on at the start of the field. */
  readonly wraps: boolean
  /** `L`, `W` and `#` in the day fields. */
  readonly hasDayRules: boolean
  /** `L` alone in the day-of-week field is Saturday. */
  readonly isLastSaturday: boolean
  /** Where a `?` may stand for `*`; `one-day`: it has to, in exactly one of the day fields. */
  readonly questionMark: 'days' | 'anywhere' | 'one-day'
  /** Whether a field counts as a star: one in minute or hour follows real time, one in a day field asks for both. */
  isStar(field: CronField): boolean
}

const five = ['minute', 'hour', 'dayOfMonth', 'month', 'dayOfWeek'] as const satisfies FieldName[]
const withSecond = ['second', ...five] as const
const zoneAdvice = 'The time zone does not belong here: put it in `timezone`'
const allYears = { min: 1970, max: 9999 }

const vixie: CronDialect = {
  layouts: [five, withSecond],
  layoutWords: 'A cron expression has 5 fields (6 with seconds in front)',
  hasNicknames: true,
  zoneAdvice,
  weekdays: { sunday: 0, max: 7 },
  years: allYears,
  bareStep: 'refused',
  wraps: true,
  hasDayRules: true,
  isLastSaturday: false,
  questionMark: 'days',
  isStar: ({ items: [first] }) =>
    first?.kind === 'star' || (first?.kind === 'hash' && first.isWholeField && first.step > 1),
}

const quartz: CronDialect = {
  ...vixie,
  layouts: [withSecond, [...withSecond, 'year']],
  layoutWords: 'A Quartz expression has 6 fields, seconds first (7 with the year at the end)',
  hasNicknames: false,
  weekdays: { sunday: 1, max: 7 },
  years: { min: 1970, max: 2099 },
  bareStep: 'interval',
  isLastSaturday: true,
  questionMark: 'one-day',
}

/** The dialects by name. Kubernetes reads as robfig/cron does: only a bare `*` or `?` is a star, anywhere in a list. */
export const dialects: Readonly<Record<CronDialectName, CronDialect>> = {
  vixie,
  quartz,
  kubernetes: {
    ...vixie,
    layouts: [five],
    layoutWords: 'A Kubernetes schedule has 5 fields',
    zoneAdvice: 'Kubernetes does not support a time zone inside the schedule: use `timeZone` there, `timezone` here',
    weekdays: { sunday: 0, max: 6 },
    bareStep: 'range',
    wraps: false,
    hasDayRules: false,
    questionMark: 'anywhere',
    isStar: ({ items }) => items.some((item) => item.kind === 'star' && item.step === 1),
  },
  eventbridge: {
    ...quartz,
    layouts: [[...five, 'year']],
    layoutWords:
      'An EventBridge schedule is rate(5 minutes), at(2026-07-01T09:00:00) or cron() with 6 fields, the year last',
    years: { min: 1970, max: 2199 },
  },
}
