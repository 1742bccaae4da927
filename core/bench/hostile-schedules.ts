const utc = { timezone: 'UTC' }
const cron = (text: string, more: object = {}) => ({ type: 'cron', cron: text, ...utc, ...more })
const rrule = (text: unknown, more: object = {}) => ({
  type: 'rrule',
  rrule: text,
  dtstart: '2026-01-01T00:00:00',
  ...utc,
  ...more,
})
const list = (length: number, value: (index: number) => string | number): string =>
  Array.from({ length }, (_, index) => value(index)).join(',')

/** Input that looks for work without end: what never fires, what fires after centuries, and what is only long. */
export const hostileSchedules: readonly unknown[] = [
  cron('0 0 30 2 *'),
  cron('0 0 31 2,4,6,9,11 *'),
  cron('0 0 29 2 MON#5'),
  cron(`${list(60, (index) => index)} ${list(24, (index) => index)} * * *`),
  cron(`${'*/1,'.repeat(200)}* * * * *`),
  cron('59 59 23 31 12 *'),
  cron('30 2 29 3 *', { timezone: 'Europe/Berlin', gap: 'skip' }),
  cron('0 0 1 1 ? 1970', { dialect: 'quartz' }),
  cron('0'.repeat(100_000)),
  cron(' '.repeat(100_000)),
  { type: 'every', every: `PT${'9'.repeat(60)}S`, anchor: '2026-01-01T00:00:00Z' },
  { type: 'every', every: 'PT1S', anchor: '0001-01-01T00:00:00Z', endAt: '0001-01-01T00:00:00Z' },
  { type: 'at', at: '9'.repeat(100_000) },
  rrule('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30'),
  rrule('FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30'),
  rrule('FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30'),
  rrule('FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3;BYMINUTE=7;BYSECOND=11'),
  rrule('FREQ=MINUTELY;INTERVAL=1439;BYHOUR=2;BYMINUTE=30;BYDAY=SU'),
  rrule('FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYMONTH=1;BYMONTHDAY=4'),
  rrule('FREQ=YEARLY;INTERVAL=97;BYMONTH=2;BYMONTHDAY=29'),
  rrule('FREQ=YEARLY;BYYEARDAY=366;INTERVAL=3;BYDAY=TU'),
  rrule('FREQ=MONTHLY;BYDAY=5MO,5TU,5WE;BYMONTHDAY=1'),
  rrule('FREQ=MONTHLY;BYSETPOS=366;BYDAY=MO'),
  rrule('FREQ=SECONDLY;COUNT=1000000000'),
  rrule('FREQ=DAILY;UNTIL=99991231T235959Z;BYSETPOS=-1;BYHOUR=25'),
  rrule(`FREQ=YEARLY;BYYEARDAY=${list(366, (index) => index + 1)};BYHOUR=${list(24, (index) => index)}`),
  rrule(`FREQ=SECONDLY;BYSECOND=${list(60, (index) => index)};BYMINUTE=${list(60, (index) => index)}`),
  rrule(`FREQ=DAILY;${'BYMONTH=1;'.repeat(2_000)}`),
  rrule(Array.from({ length: 10 }, () => 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30')),
  rrule('FREQ=SECONDLY', {
    exdate: Array.from({ length: 300 }, (_, index) =>
      new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
    ),
  }),
  rrule('FREQ=HOURLY;BYHOUR=2;BYMINUTE=30;BYMONTH=3;BYMONTHDAY=29', { timezone: 'Europe/Berlin', gap: 'skip' }),
  cron('H H H H H'),
  cron('0 9 * * *', {
    jitter: `PT${'9'.repeat(1_000)}H`,
    onlyOn: Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)),
  }),
]
