import { validationFailed } from '@meridian/core/kernel/errors'
import { toWireId } from '@meridian/core/kernel/ids'
import { reportProjectZones } from '@meridian/core/run/project-zone-report'
import { readZoneHistory } from '@meridian/core/run/zone-versions'
import { nativeZones } from '@meridian/core/schedule/zone'
import { versionsIn } from '@meridian/core/schedule/zone-files'
import { z } from 'zod'
import type { Services } from '../http/env.ts'
import { needs, operation } from '../http/operation.ts'
import { instant, toInstant, toInstantOrNull, wholeNumber, wireId } from '../wire/values.ts'

const version = z.string().meta({ examples: ['2026a'] })

/** The versions other than our own whose files lie here, the newest first. */
const othersOf = ({ config, zonesOf }: Services): string[] =>
  versionsIn(config.tzdataFolder).filter((each) => each !== nativeZones.version && zonesOf(each) !== undefined)

const data = operation({
  id: 'getTimeZoneData',
  method: 'get',
  path: '/v1/time-zone-data',
  tag: 'Schedules',
  summary: 'See which time zone data schedules run under',
  description:
    'The version in use, those that the schedules of the project ran under, and what the last one moved when it was applied.',
  access: needs('jobs:read'),
  answer: {
    status: 200,
    description: 'The versions.',
    schema: z
      .strictObject({
        version: version.meta({ description: 'What the API computes with.' }),
        others: z
          .array(version)
          .meta({ description: 'Other versions whose files lie here, to be compared with; the newest first.' }),
        versions: z
          .array(
            z.strictObject({
              version,
              schedules: z.int().meta({ description: 'Whose next instant was computed with it.' }),
              jobs: z.int().meta({ description: 'Whose schedules ran under it at any time.' }),
              from: instant,
              until: instant.nullable().meta({ description: 'Null: some still do.' }),
              moved: z.int().meta({ description: 'Schedules whose next instant moved when it was applied.' }),
            }),
          )
          .meta({ description: 'What the schedules of the project ran under, the one that came last first.' }),
        lastMoves: z
          .array(
            z.strictObject({
              jobId: wireId('job'),
              jobName: z.string(),
              timezone: z.string().nullable(),
              version,
              fromVersion: version,
              at: instant,
              before: instant.nullable().meta({ description: 'Its next instant, as it was.' }),
              after: instant.nullable().meta({ description: 'The same, as it became.' }),
            }),
          )
          .meta({ description: 'What the last version that moved anything moved: at most 100, the soonest first.' }),
      })
      .meta({ id: 'TimeZoneData' }),
  },
  async handle({ ctx, services }) {
    const { versions, lastMoves } = await readZoneHistory(ctx)
    return {
      version: nativeZones.version,
      others: othersOf(services),
      versions: versions.map(({ from, until, ...counts }) => ({
        ...counts,
        from: toInstant(from),
        until: toInstantOrNull(until),
      })),
      lastMoves: lastMoves.map(({ jobId, at, before, after, ...move }) => ({
        ...move,
        jobId: toWireId('job', jobId),
        at: toInstant(at),
        before: toInstantOrNull(before),
        after: toInstantOrNull(after),
      })),
    }
  },
})

const report = operation({
  id: 'reportTimeZoneData',
  method: 'get',
  path: '/v1/time-zone-data/report',
  tag: 'Schedules',
  summary: 'See which schedules other time zone data moves',
  description:
    'To be read before it is applied: the schedules of the project whose instants to come are others under it, paused ones and those in shadow, too. Without `version` the newest of `others`; where there is none, the data in use is compared with itself, and nothing moves.',
  access: needs('jobs:read'),
  query: z.strictObject({
    version: version.optional(),
    days: wholeNumber(1, 1_830).default(366).meta({ description: 'How far ahead is looked.' }),
  }),
  answer: {
    status: 200,
    description: 'The report.',
    schema: z
      .strictObject({
        version: version.meta({ description: 'What would be applied.' }),
        current: version.meta({ description: 'What it was compared with.' }),
        from: instant,
        until: instant,
        schedules: z.int().meta({ description: 'How many were compared.' }),
        moved: z.int().meta({ description: 'How many would move, or could not be computed any more.' }),
        uncompared: z.int().meta({ description: 'Schedules with more instants than can be looked at.' }),
        data: z
          .array(
            z.strictObject({
              jobId: wireId('job'),
              jobName: z.string(),
              timezone: z.string(),
              removed: z.int().meta({ description: 'Instants that it would lose.' }),
              added: z.int().meta({ description: 'Instants that it would get.' }),
              before: z.array(instant).meta({ description: 'The first three that it would lose.' }),
              after: z.array(instant).meta({ description: 'The first three that it would get instead.' }),
              problem: z.string().nullable().meta({ description: 'Why it could not be compared.' }),
            }),
          )
          .meta({ description: 'At most 1,000, the soonest first.' }),
      })
      .meta({ id: 'TimeZoneReport' }),
  },
  async handle({ ctx, query, services }) {
    const asked = query.version ?? newerOf(services)
    const next = services.zonesOf(asked)
    if (next === undefined)
      throw validationFailed([{ pointer: '/version', detail: `the data of ${asked} is not here: see TZDATA_FOLDER` }])
    const { from, until, lines, ...counts } = await reportProjectZones(ctx, { next, days: query.days })
    return {
      version: next.version,
      current: nativeZones.version,
      from: toInstant(from),
      until: toInstant(until),
      ...counts,
      data: lines.map(({ jobId, jobName, timezone, moved, problem }) => ({
        jobId: toWireId('job', jobId),
        jobName,
        timezone,
        removed: moved?.removed ?? 0,
        added: moved?.added ?? 0,
        before: (moved?.beforeMs ?? []).map((at) => toInstant(new Date(at))),
        after: (moved?.afterMs ?? []).map((at) => toInstant(new Date(at))),
        problem,
      })),
    }
  },
})

function newerOf(services: Services): string {
  const [newest] = othersOf(services)
  return newest !== undefined && newest > nativeZones.version ? newest : nativeZones.version
}

export const timeZoneDataOperations = [data, report]
