import type { Schedule } from './schedule.ts'

/** A public bug report about another scheduler, with the instants that a correct one gives. */
export interface FieldCase {
  readonly id: string
  readonly source: string
  readonly why: string
  readonly schedule: Schedule
  /** Exclusive. */
  readonly after: string
  readonly expected: readonly string[]
}

const rules: readonly FieldCase[] = [
  {
    id: 'O-32',
    source: 'jkbrzt/rrule#295',
    why: 'the result depended on the time zone of the process',
    schedule: { type: 'rrule', rrule: 'FREQ=DAILY;COUNT=5', dtstart: '2018-10-27T00:00', timezone: 'Australia/Eucla' },
    after: '2018-10-20T00:00:00Z',
    expected: [
      '2018-10-26T15:15:00Z',
      '2018-10-27T15:15:00Z',
      '2018-10-28T15:15:00Z',
      '2018-10-29T15:15:00Z',
      '2018-10-30T15:15:00Z',
    ],
  },
  {
    id: 'O-33',
    source: 'jkbrzt/rrule#556',
    why: 'gave Sunday, Tuesday, Wednesday',
    schedule: {
      type: 'rrule',
      rrule: 'FREQ=WEEKLY;BYDAY=MO,WE,TH;COUNT=3',
      dtstart: '2022-09-25T01:00',
      timezone: 'America/Denver',
    },
    after: '2022-09-01T00:00:00Z',
    expected: ['2022-09-26T07:00:00Z', '2022-09-28T07:00:00Z', '2022-09-29T07:00:00Z'],
  },
]

// id | source | expression | zone | rule | after | expected | why
const table = `
O-01  | robfig/cron#541                   | 0 2 * * *                | America/Los_Angeles | default   | 2025-03-08T20:00:00Z | 2025-03-09T10:00:00Z 2025-03-10T09:00:00Z | a 02:00 job was lost on the spring day
O-01  | robfig/cron#541                   | 0 2 * * *                | America/Los_Angeles | gap skip  | 2025-03-08T20:00:00Z | 2025-03-10T09:00:00Z 2025-03-11T09:00:00Z | a 02:00 job was lost on the spring day
O-02  | kubernetes/kubernetes#121594      | 0 2 * * *                | Europe/Berlin       | default   | 2023-10-28T12:00:00Z | 2023-10-29T00:00:00Z 2023-10-30T01:00:00Z | ran twice in the repeated hour
O-02  | kubernetes/kubernetes#121594      | 0 2 * * *                | Europe/Berlin       | fold both | 2023-10-28T12:00:00Z | 2023-10-29T00:00:00Z 2023-10-29T01:00:00Z | ran twice in the repeated hour
O-03  | Hexagon/croner#284                | 0 0 * * * *              | UTC                 | default   | 2025-10-05T02:00:00Z | 2025-10-05T03:00:00Z 2025-10-05T04:00:00Z | run the process with TZ=Australia/Sydney: local DST leaked into a UTC schedule
O-05  | Hexagon/croner#54                 | 0 0 * * sun              | UTC                 | default   | 2022-02-17T00:00:00Z | 2022-02-20T00:00:00Z 2022-02-27T00:00:00Z | returned 2023-01-01
O-06  | Hexagon/croner#267                | 0 0 1-31 * 4             | UTC                 | default   | 2024-12-01T00:00:00Z | 2024-12-02T00:00:00Z 2024-12-03T00:00:00Z 2024-12-04T00:00:00Z | OR rule; the reporter wanted Thursdays only, so the preview must make the OR visible
O-07  | harrisiirak/cron-parser#25        | 0 0 0 10 * *             | America/Sao_Paulo   | default   | 2014-10-13T15:00:00Z | 2014-11-10T02:00:00Z | midnight missing on 2014-10-19: endless loop
O-08a | harrisiirak/cron-parser#404       | 0 5 * * 7                | Europe/Rome         | default   | 2025-03-28T23:59:59Z | 2025-03-30T03:00:00Z | iterator died when crossing the gap
O-08b | harrisiirak/cron-parser#404       | 0 3 * * 7                | Europe/Rome         | default   | 2025-03-28T23:59:59Z | 2025-03-30T01:00:00Z | first valid minute after the gap
O-08c | harrisiirak/cron-parser#404       | 30 2 * * 7               | Europe/Rome         | default   | 2025-03-28T23:59:59Z | 2025-03-30T01:00:00Z 2025-04-06T00:30:00Z | inside the gap
O-08c | harrisiirak/cron-parser#404       | 30 2 * * 7               | Europe/Rome         | gap skip  | 2025-03-28T23:59:59Z | 2025-04-06T00:30:00Z 2025-04-13T00:30:00Z | inside the gap
O-08c | harrisiirak/cron-parser#404       | 30 2 * * 7               | Europe/Rome         | gap shift | 2025-03-28T23:59:59Z | 2025-03-30T01:30:00Z 2025-04-06T00:30:00Z | inside the gap
O-09  | kelektiv/node-cron#919            | 0 1 30 3 *               | Europe/Lisbon       | default   | 2024-11-15T00:00:00Z | 2025-03-30T01:00:00Z | process hung; only date of the year is in the gap
O-09  | kelektiv/node-cron#919            | 0 1 30 3 *               | Europe/Lisbon       | gap skip  | 2024-11-15T00:00:00Z | 2026-03-30T00:00:00Z | process hung; only date of the year is in the gap
O-10  | kelektiv/node-cron#638            | 30 2 * * 0               | Europe/Amsterdam    | default   | 2023-03-20T00:00:00Z | 2023-03-26T01:00:00Z 2023-04-02T00:30:00Z | endless loop
O-10  | kelektiv/node-cron#638            | 30 2 * * 0               | Europe/Amsterdam    | gap skip  | 2023-03-20T00:00:00Z | 2023-04-02T00:30:00Z 2023-04-09T00:30:00Z | endless loop
O-10  | kelektiv/node-cron#638            | 30 2 * * 0               | Europe/Amsterdam    | gap shift | 2023-03-20T00:00:00Z | 2023-03-26T01:30:00Z 2023-04-02T00:30:00Z | endless loop
O-11  | kelektiv/node-cron#430            | 0 2 21 * * 1,2,3,4,5,6,7 | Asia/Kolkata        | default   | 2019-06-23T04:36:12Z | 2019-06-23T15:32:00Z 2019-06-24T15:32:00Z | Sunday as 7 in a list skipped the Sunday
O-12  | PrefectHQ/prefect#5957            | 0 0 * * 0                | America/Santiago    | default   | 2022-08-21T16:00:00Z | 2022-08-28T04:00:00Z 2022-09-04T04:00:00Z 2022-09-11T04:00:00Z 2022-09-18T03:00:00Z 2022-09-25T03:00:00Z | midnight missing on 2022-09-11 (date moved late, needs tzdata ≥ 2022b): same instant returned for ever
O-12  | PrefectHQ/prefect#5957            | 0 0 * * 0                | America/Santiago    | gap skip  | 2022-08-21T16:00:00Z | 2022-08-28T04:00:00Z 2022-09-04T04:00:00Z 2022-09-18T03:00:00Z 2022-09-25T03:00:00Z 2022-10-02T03:00:00Z | midnight missing on 2022-09-11 (date moved late, needs tzdata ≥ 2022b): same instant returned for ever
O-13  | iamkun/dayjs#2838                 | 0 9 * * *                | America/Asuncion    | default   | 2025-03-26T00:00:00Z | 2025-03-26T12:00:00Z | Paraguay left DST; stale data gives 13:00Z
O-14  | taichino/croniter#55              | 0 9 29 2 *               | UTC                 | default   | 2016-02-29T09:00:00Z | 2020-02-29T09:00:00Z | leap day crashed
O-14b | derived                           | 0 9 29 2 *               | UTC                 | default   | 2096-03-01T00:00:00Z | 2104-02-29T09:00:00Z | 2100 is no leap year: 8-year search limits fail
O-15  | cronie-crond/cronie#215           | 0 0 * * */2              | UTC                 | default   | 2026-01-02T00:00:00Z | 2026-01-03T00:00:00Z 2026-01-04T00:00:00Z 2026-01-06T00:00:00Z | */2 = Sun,Tue,Thu,Sat was read as every day
O-16  | datasert/cronjs#44                | 0 0 * * fri#5            | UTC                 | default   | 2023-09-22T12:00:00Z | 2023-09-29T00:00:00Z | the last occurrence was never matched
O-17  | dragonmantank/cron-expression#168 | 0 5 LW * *               | UTC                 | default   | 2023-10-01T00:00:00Z | 2023-10-31T05:00:00Z 2023-11-30T05:00:00Z 2023-12-29T05:00:00Z | last weekday of month
O-22  | dagster-io/dagster#21391          | 0 2 * * *                | Australia/Lord_Howe | default   | 2023-09-29T16:00:00Z | 2023-09-30T15:30:00Z 2023-10-01T15:00:00Z 2023-10-02T15:00:00Z | 30-minute gap 02:00–02:29 on 2023-10-01
O-22  | dagster-io/dagster#21391          | 0 2 * * *                | Australia/Lord_Howe | gap skip  | 2023-09-29T16:00:00Z | 2023-10-01T15:00:00Z 2023-10-02T15:00:00Z 2023-10-03T15:00:00Z | 30-minute gap 02:00–02:29 on 2023-10-01
O-23  | harrisiirak/cron-parser#388       | */45 * * * *             | UTC                 | default   | 2025-08-08T10:00:00Z | 2025-08-08T10:45:00Z 2025-08-08T11:00:00Z 2025-08-08T11:45:00Z | not "every 45 minutes"; the UI must say so
O-24  | harrisiirak/cron-parser#156       | 0 1-59/2 * * * *         | UTC                 | default   | 2019-04-23T01:47:26Z | 2019-04-23T01:49:00Z 2019-04-23T01:51:00Z | step over a range
O-25  | healthchecks/healthchecks#196     | 0 2 * * *                | Europe/Copenhagen   | default   | 2018-10-26T12:00:00Z | 2018-10-27T00:00:00Z 2018-10-28T00:00:00Z 2018-10-29T01:00:00Z | the form refused a valid expression near a transition
O-25  | healthchecks/healthchecks#196     | 0 2 * * *                | Europe/Copenhagen   | fold both | 2018-10-26T12:00:00Z | 2018-10-27T00:00:00Z 2018-10-28T00:00:00Z 2018-10-28T01:00:00Z | the form refused a valid expression near a transition
O-21  | OptimalBits/bull#2207             | 0 6 * * MON              | America/New_York    | default   | 2021-11-07T12:00:00Z | 2021-11-08T11:00:00Z 2021-11-15T11:00:00Z | all Monday jobs ran twice an hour apart; also restart all processes between 10:00Z and 11:00Z
O-29a | Debian /etc/crontab               | 25 6 * * *               | Europe/London       | default   | 2026-03-28T12:00:00Z | 2026-03-29T05:25:00Z 2026-03-30T05:25:00Z | system crontab; user column and command must be parsed off
O-29b | Debian /etc/crontab               | 47 6 * * 7               | Europe/London       | default   | 2026-03-28T12:00:00Z | 2026-03-29T05:47:00Z 2026-04-05T05:47:00Z | Sunday as 7, on the DST day
O-29c | Debian /etc/crontab               | 52 6 1 * *               | Europe/London       | default   | 2026-03-28T12:00:00Z | 2026-04-01T05:52:00Z 2026-05-01T05:52:00Z | monthly
O-31  | pitchblack408/pyawscron#69        | 34 12 * * SAT            | UTC                 | default   | 2025-10-23T00:00:00Z | 2025-10-25T12:34:00Z 2025-11-01T12:34:00Z | the same as the AWS form cron(34 12 ? * SAT *)
O-31  | pitchblack408/pyawscron#69        | cron(34 12 ? * SAT *)    | UTC                 | dialect eventbridge | 2025-10-23T00:00:00Z | 2025-10-25T12:34:00Z 2025-11-01T12:34:00Z | the AWS form
O-30  | kubernetes/website cronjob.yaml   | * * * * *                | UTC                 | dialect kubernetes  | 2026-01-01T00:00:00Z | 2026-01-01T00:01:00Z 2026-01-01T00:02:00Z | the schedule of the manifest
STAR= | robfig/cron parser                | 0 0 */2 * 1              | UTC                 | default             | 2026-03-01T00:00:00Z | 2026-03-09T00:00:00Z 2026-03-23T00:00:00Z 2026-04-13T00:00:00Z | odd days that are Mondays
STAR= | robfig/cron parser                | 0 0 */2 * 1              | UTC                 | dialect kubernetes  | 2026-03-01T00:00:00Z | 2026-03-02T00:00:00Z 2026-03-03T00:00:00Z 2026-03-05T00:00:00Z | only a bare star asks for both: odd days or Mondays
STAR= | robfig/cron parser                | 0 0 * * */2              | UTC                 | dialect kubernetes  | 2026-01-02T00:00:00Z | 2026-01-03T00:00:00Z 2026-01-04T00:00:00Z 2026-01-06T00:00:00Z | O-15 is the same: the other day field is a bare star
STAR= | robfig/cron parser                | 0 0 */10,* * 3           | UTC                 | dialect kubernetes  | 2026-03-01T00:00:00Z | 2026-03-04T00:00:00Z 2026-03-11T00:00:00Z | a star anywhere in the list counts
STAR= | robfig/cron parser                | */30 2 * * *             | Europe/Berlin       | default             | 2026-03-28T12:00:00Z | 2026-03-30T00:00:00Z 2026-03-30T00:30:00Z | follows real time, so the gap leaves it out
STAR= | robfig/cron parser                | */30 2 * * *             | Europe/Berlin       | dialect kubernetes  | 2026-03-28T12:00:00Z | 2026-03-29T01:00:00Z 2026-03-30T00:00:00Z 2026-03-30T00:30:00Z | fixed times, once at the end of the gap
STAR= | robfig/cron parser                | */30 2 * * *             | Europe/Berlin       | default             | 2026-10-24T12:00:00Z | 2026-10-25T00:00:00Z 2026-10-25T00:30:00Z 2026-10-25T01:00:00Z 2026-10-25T01:30:00Z 2026-10-26T01:00:00Z | both times through the repeated hour
STAR= | robfig/cron parser                | */30 2 * * *             | Europe/Berlin       | dialect kubernetes  | 2026-10-24T12:00:00Z | 2026-10-25T00:00:00Z 2026-10-25T00:30:00Z 2026-10-26T01:00:00Z | only the first time
STAR= | robfig/cron parser                | 0 */2 * * *              | Europe/Berlin       | dialect kubernetes  | 2026-03-29T00:00:00Z | 2026-03-29T01:00:00Z 2026-03-29T02:00:00Z 2026-03-29T04:00:00Z | a step in the hours is no star either
STAR= | robfig/cron parser                | 30 * * * *               | Europe/Berlin       | dialect kubernetes  | 2026-10-24T23:45:00Z | 2026-10-25T00:30:00Z 2026-10-25T01:30:00Z | a bare star is
Q-1   | quartz CronExpression             | 0 15 10 ? * 6L 2026-2027 | UTC                 | dialect quartz      | 2026-11-28T00:00:00Z | 2026-12-25T10:15:00Z 2027-01-29T10:15:00Z | last Friday: Sunday is 1
Q-2   | quartz CronExpression             | 0 0 12 L-3W * ?          | UTC                 | dialect quartz      | 2026-02-01T00:00:00Z | 2026-02-25T12:00:00Z 2026-03-27T12:00:00Z 2026-04-27T12:00:00Z | weekday nearest the third day before the last
O-52  | kelektiv/node-cron#118            | 0 0 12 11,26 * *         | America/Sao_Paulo   | default   | 2014-10-12T12:00:00Z | 2014-10-26T14:00:00Z | hung
O-53  | cronie-crond/cronie#218           | 0 12 * * 0               | Europe/Berlin       | default   | 2022-03-24T11:00:00Z | 2022-03-27T10:00:00Z | adding 86 400 s skipped the 23-hour Sunday
O-54  | jmrozanec/cron-utils#69           | 0 * * * 1-5              | America/Chicago     | default   | 2016-02-29T17:00:00Z | 2016-02-29T18:00:00Z | on a leap day jumped to 2 March
O-55  | taichino/croniter#48              | 0 8 * * 1                | Europe/Amsterdam    | default   | 2017-10-28T12:00:00Z | 2017-10-30T07:00:00Z 2017-11-06T07:00:00Z | extra fire at 07:00 on the Monday after
O-56  | quartznet/quartznet#587           | 11 7 * * *               | America/New_York    | default   | 2017-11-04T11:12:00Z | 2017-11-05T12:11:00Z | kept the old offset over the change
O-57  | maennchen/crontab#132             | 0 9 * * mon#5            | UTC                 | default   | 2024-10-22T09:00:00Z | 2024-12-30T09:00:00Z | gave Saturday 2 November
O-58  | harrisiirak/cron-parser#107       | 0 30 0 * * SAT,SUN       | UTC                 | default   | 2017-09-23T11:00:00Z | 2017-09-24T00:30:00Z 2017-09-30T00:30:00Z | list skipped the next day
`

const crons: readonly FieldCase[] = table
  .trim()
  .split('\n')
  .map((row) => {
    const [id = '', source = '', cron = '', timezone = '', rule = '', after = '', expected = '', why = ''] = row
      .split('|')
      .map((cell) => cell.trim())
    const [name = '', value = ''] = rule.split(' ')
    const choice = name === 'default' ? {} : { [name]: value }
    const schedule = { type: 'cron', cron, timezone, ...choice } as const
    return { id, source, why, schedule, after, expected: expected.split(' ') }
  })

/** All of them; the instants of a schedule that ends are all there are. */
export const fieldCases: readonly FieldCase[] = [...crons, ...rules]
