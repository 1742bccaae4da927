import { toWireId } from '@meridian/core/kernel/ids'
import { type Alarms, alarmKindNames, alarmKinds, installationAlarmKinds } from '@meridian/core/watch/alarm'
import { z } from 'zod'
import { instant, toInstant, toInstantOrNull } from './values.ts'

const since = instant.meta({ description: 'Since when it should have moved.' })

export const alarmsWire = z
  .strictObject({
    data: z.array(
      z
        .strictObject({
          kind: z.enum(alarmKindNames).meta({ id: 'AlarmKind' }),
          subject: z
            .string()
            .meta({ description: 'The job, run, operation or breaker.', examples: ['job_01h455vb4pex5vsknk084sn02q'] }),
          name: z.string().nullable().meta({ description: 'Of the job, or the host of the breaker.' }),
          since,
          raisedAt: instant,
          clearedAt: instant.nullable(),
        })
        .meta({ id: 'Alarm' }),
    ),
    installation: z
      .array(
        z
          .strictObject({
            kind: z.enum(installationAlarmKinds).meta({ id: 'InstallationAlarmKind' }),
            name: z.string().meta({ description: 'Of the pool or the table.' }),
            since,
            raisedAt: instant,
          })
          .meta({ id: 'InstallationAlarm' }),
      )
      .meta({ description: 'What stands still for everybody.' }),
    watchedAt: instant.nullable().meta({ description: 'When the watchdog last looked; null: it never has.' }),
    isWatchdogSilent: z
      .boolean()
      .meta({ description: 'It has not looked for a minute: nobody knows what stands still.' }),
  })
  .meta({ id: 'Alarms' })

const prefixes = { job: 'job', run: 'run', operation: 'op', breaker: 'brk' } as const

export const alarmsToWire = ({
  alarms,
  installation,
  watchedAt,
  isWatchdogSilent,
}: Alarms): z.output<typeof alarmsWire> => ({
  data: alarms.map((alarm) => ({
    kind: alarm.kind,
    subject: toWireId(prefixes[alarmKinds[alarm.kind].noun], alarm.subject),
    name: alarm.name,
    since: toInstant(alarm.since),
    raisedAt: toInstant(alarm.raisedAt),
    clearedAt: toInstantOrNull(alarm.clearedAt),
  })),
  installation: installation.map((alarm) => ({
    ...alarm,
    since: toInstant(alarm.since),
    raisedAt: toInstant(alarm.raisedAt),
  })),
  watchedAt: toInstantOrNull(watchedAt),
  isWatchdogSilent,
})
