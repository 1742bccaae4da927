import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileZone as compile } from '../testing/compiled-zone.ts'
import { nativeZones, type Zone } from './zone.ts'
import { compareZones } from './zone-changes.ts'
import { versionOf, versionsIn, zoneFiles, zonesOfVersions } from './zone-files.ts'
import { parseFutureRule } from './zone-future.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'meridian-zones-'))
  mkdirSync(join(folder, 'Europe'))
  mkdirSync(join(folder, 'Asia'))
  writeFileSync(join(folder, 'tzdata.zi'), '# version 2027a\n')
  // Berlin as it is, and as it would be had it given up summer time in 2027.
  const summer = ['2026-03-29T01:00:00Z', 7_200] as const
  const winter = ['2026-10-25T01:00:00Z', 3_600] as const
  writeFileSync(join(folder, 'Europe/Berlin'), compile(3_600, [summer, winter], 'CET-1'))
  writeFileSync(join(folder, 'Europe/Paris'), compile(3_600, [summer, winter], 'CET-1CEST,M3.5.0,M10.5.0/3'))
  writeFileSync(join(folder, 'Asia/Kolkata'), compile(19_800, [], 'IST-5:30'))
  writeFileSync(join(folder, 'Asia/Old'), Buffer.concat([Buffer.from('TZif'), Buffer.alloc(60)]))
  writeFileSync(join(folder, 'Asia/Text'), 'not a zone')
})
afterAll(() => rmSync(folder, { recursive: true }))

const zones = () => zoneFiles(folder, versionOf(folder) ?? '?')
const offsetsOf = (zone: Zone | undefined, years: readonly number[]): (number | undefined)[] =>
  years.flatMap((year) => [0, 6].map((month) => zone && zone.spanAt(Date.UTC(year, month, 1)).offset / 3_600_000))

describe('compiled zone files', () => {
  test('say what their bytes and the rule behind them say', () => {
    expect(zones().version).toBe('2027a')
    expect(offsetsOf(zones().find('Europe/Berlin'), [2025, 2026, 2030])).toEqual([1, 1, 1, 2, 1, 1])
    expect(offsetsOf(zones().find('Europe/Paris'), [2026, 2030, 2999])).toEqual([1, 2, 1, 2, 1, 2])
    expect(offsetsOf(zones().find('Asia/Kolkata'), [1900, 2100])).toEqual([5.5, 5.5, 5.5, 5.5])
  })

  test('have spans that meet, and are those of the native data where nothing differs', () => {
    const paris = zones().find('Europe/Paris')
    const native = nativeZones.find('Europe/Paris')
    let at = Date.UTC(2026, 5, 1)
    for (let count = 0; count < 40; count++) {
      const span = paris?.spanAt(at)
      expect(span).toEqual(native?.spanAt(at))
      expect(paris?.spanAt((span?.until ?? 0) - 1)).toEqual(span)
      at = span?.until ?? 0
    }
  })

  test('that are no zones are none', () => {
    for (const name of ['Asia/Text', 'Asia/None', '../Europe/Berlin', '/etc/localtime', 'Asia', ''])
      expect(zones().find(name)).toBeUndefined()
    expect(() => zones().find('Asia/Old')).toThrow('version 1')
    expect(versionOf(join(folder, 'Asia'))).toBeUndefined()
  })
})

test('the data of a version is what this Node has, or what lies in a folder of that name', () => {
  const kept = join(folder, 'kept')
  mkdirSync(join(kept, '2020a', 'Etc'), { recursive: true })
  writeFileSync(join(kept, '2020a', 'Etc', 'UTC'), compile(0, [], 'UTC0'))
  const zonesOf = zonesOfVersions(kept)
  expect(zonesOf(nativeZones.version)).toBe(nativeZones)
  expect(zonesOf('2020a')?.find('Etc/UTC')?.spanAt(0).offset).toBe(0)
  expect([zonesOf('2020b'), zonesOf('../2020a'), zonesOfVersions(null)('2020a')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  mkdirSync(join(kept, '2027a'))
  mkdirSync(join(kept, 'notes'))
  expect([versionsIn(kept), versionsIn(join(kept, 'nothing')), versionsIn(null)]).toEqual([['2027a', '2020a'], [], []])
  // A folder that is filled while we run is seen.
  expect(zonesOf('2027a')).toBeUndefined()
  mkdirSync(join(kept, '2027a', 'Etc'))
  writeFileSync(join(kept, '2027a', 'Etc', 'UTC'), compile(0, [], 'UTC0'))
  expect(zonesOf('2027a')?.version).toBe('2027a')
})

describe('the rule at the end', () => {
  const offsetAt = (rule: string, at: string): number | undefined => {
    const span = parseFutureRule(rule)?.(Date.parse(at))
    return span && span.offset / 3_600_000
  }

  test.each([
    ['EST5EDT,M3.2.0,M11.1.0', '2040-07-01T00:00Z', -4],
    ['EST5EDT,M3.2.0,M11.1.0', '2040-01-01T00:00Z', -5],
    ['<-03>3<-02>,M3.5.0/-2,M10.5.0/-1', '2040-07-01T00:00Z', -2],
    ['IST-1GMT0,M10.5.0,M3.5.0/1', '2040-01-01T00:00Z', 0],
    ['IST-1GMT0,M10.5.0,M3.5.0/1', '2040-07-01T00:00Z', 1],
    ['<+1030>-10:30<+11>-11,M10.1.0,M4.1.0', '2040-01-01T00:00Z', 11],
    ['AAA0BBB,J60/0,J61/0', '2040-03-01T12:00Z', 1],
    ['AAA0BBB,59/0,60/0', '2040-02-29T12:00Z', 1],
  ])('%s at %s', (rule, at, offset) => expect(offsetAt(rule, at)).toBe(offset))

  test('that is none is refused', () => {
    expect(parseFutureRule('')).toBeUndefined()
    expect(() => parseFutureRule('CET')).toThrow('CET')
    expect(() => parseFutureRule('CET-1CEST,M3.5.0')).toThrow('not a rule')
  })
})

describe('two versions compared', () => {
  const fromMs = Date.UTC(2026, 10, 1)
  const compare = (cron: string, timezone: string, days = 365) =>
    compareZones({ type: 'cron', cron, timezone }, { now: nativeZones, next: zones(), fromMs, days })

  test('tell exactly the instants that move', () => {
    // From 28 March to 31 October of 2027 the clocks would be an hour behind.
    expect(compare('0 9 * * *', 'Europe/Berlin')).toEqual({
      removed: 217,
      added: 217,
      firstMs: Date.UTC(2027, 2, 28, 7),
      beforeMs: [28, 29, 30].map((date) => Date.UTC(2027, 2, date, 7)),
      afterMs: [28, 29, 30].map((date) => Date.UTC(2027, 2, date, 8)),
    })
    expect(compare('0 9 * * *', 'Europe/Berlin', 30)).toBeUndefined()
    expect(compare('0 9 * * *', 'Europe/Paris')).toBeUndefined()
    expect(compare('*/15 * * * *', 'Europe/Berlin')).toBeUndefined()
  })

  test('count from an anchor of the past, which other data may put elsewhere', () => {
    const schedule = { type: 'every', every: 'P1D', anchor: '2028-07-01T09:00', timezone: 'Europe/Berlin' } as const
    const options = { now: nativeZones, next: zones(), fromMs: Date.UTC(2028, 10, 1), days: 30 }
    expect(compareZones(schedule, options)).toBeUndefined()
    // The instant is the same, the wall clock that it is kept at is not.
    expect(compareZones({ ...schedule, anchor: '2028-07-01T07:00:00Z' }, options)).toMatchObject({
      removed: 30,
      added: 30,
    })
  })

  test('where one lacks the zone say so', () => {
    expect(() => compare('0 9 * * *', 'Europe/Madrid')).toThrow('Europe/Madrid')
  })
})
