import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nativeZones, type Span, type Zone, type ZoneDatabase } from './zone.ts'
import { type FutureRule, parseFutureRule } from './zone-future.ts'

const versionName = /^[0-9]{4}[a-z]{1,2}$/

// Names as in the IANA database: no `..`, no absolute path.
const zoneName = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/

/** The compiled zone files (TZif, RFC 9636) of a folder, such as `zic -d folder` or `/usr/share/zoneinfo`. */
export function zoneFiles(folder: string, version: string): ZoneDatabase {
  const zones = new Map<string, Zone>()
  return {
    version,
    find(id) {
      const zone = zones.get(id) ?? (zoneName.test(id) ? readZone(join(folder, id), id) : undefined)
      // What is missing may be laid there later.
      if (zone !== undefined) zones.set(id, zone)
      return zone
    },
  }
}

/** The zone data of a version: this Node's, or what a folder holds under that name; undefined when neither has it. */
export function zonesOfVersions(folder: string | null): (version: string) => ZoneDatabase | undefined {
  const known = new Map<string, ZoneDatabase>([[nativeZones.version, nativeZones]])
  return (version) => {
    if (!known.has(version) && folder !== null && versionName.test(version)) {
      const files = zoneFiles(join(folder, version), version)
      // A folder may come later: only what is there is remembered.
      if (files.find('Etc/UTC')) known.set(version, files)
    }
    return known.get(version)
  }
}

/** The versions that have a folder of their own in this one, the newest first. */
export function versionsIn(folder: string | null): string[] {
  if (folder === null) return []
  try {
    return readdirSync(folder)
      .filter((name) => versionName.test(name))
      .sort()
      .reverse()
  } catch {
    return []
  }
}

/** The version that a folder of zone files says it has: the first line of its `tzdata.zi`, or of its `+VERSION`. */
export function versionOf(folder: string): string | undefined {
  for (const [file, pattern] of [
    ['tzdata.zi', /^# version (\S+)/],
    ['+VERSION', /^(\S+)/],
  ] as const) {
    const version = pattern.exec(read(join(folder, file))?.toString('utf8') ?? '')?.[1]
    if (version !== undefined) return version
  }
  return undefined
}

function read(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

function readZone(path: string, id: string): Zone | undefined {
  const bytes = read(path)
  return bytes === undefined || bytes.toString('latin1', 0, 4) !== 'TZif' ? undefined : parseZone(bytes, id)
}

const headerBytes = 44

interface Header {
  readonly isUts: number
  readonly isStds: number
  readonly leaps: number
  readonly times: number
  readonly types: number
  readonly chars: number
}

function readHeader(bytes: Buffer, at: number): Header {
  const [isUts, isStds, leaps, times, types, chars] = [20, 24, 28, 32, 36, 40].map((offset) =>
    bytes.readUInt32BE(at + offset),
  ) as [number, number, number, number, number, number]
  return { isUts, isStds, leaps, times, types, chars }
}

/** Bytes of a block whose times have `size` bytes. */
const blockBytes = ({ isUts, isStds, leaps, times, types, chars }: Header, size: number): number =>
  times * (size + 1) + types * 6 + chars + leaps * (size + 4) + isStds + isUts

/** Parses a TZif file of version 2 or later. Throws `RangeError` for an older one. */
export function parseZone(bytes: Buffer, id: string): Zone {
  if (bytes.readUInt8(4) < '2'.charCodeAt(0)) throw new RangeError(`${id}: zone files of version 1 end in 2037`)
  const start = headerBytes + blockBytes(readHeader(bytes, 0), 4)
  const header = readHeader(bytes, start)
  const timesAt = start + headerBytes
  const indexesAt = timesAt + header.times * 8
  const typesAt = indexesAt + header.times
  const offsetOf = (type: number): number => bytes.readInt32BE(typesAt + type * 6) * 1_000
  const changes = Array.from({ length: header.times }, (_, index) => ({
    at: Number(bytes.readBigInt64BE(timesAt + index * 8)) * 1_000,
    offset: offsetOf(bytes.readUInt8(indexesAt + index)),
  }))
  const footer = bytes.toString('latin1', timesAt + blockBytes(header, 8)).trim()
  return zoneOf(id, { firstOffset: offsetOf(0), changes, future: parseFutureRule(footer) })
}

interface Changes {
  readonly firstOffset: number
  readonly changes: readonly { readonly at: number; readonly offset: number }[]
  readonly future: FutureRule | undefined
}

function zoneOf(id: string, { firstOffset, changes, future }: Changes): Zone {
  const spans: Span[] = changes.map(({ at, offset }, index) => ({
    from: at,
    until: changes[index + 1]?.at ?? Number.POSITIVE_INFINITY,
    offset,
  }))
  spans.unshift({
    from: Number.NEGATIVE_INFINITY,
    until: changes[0]?.at ?? Number.POSITIVE_INFINITY,
    offset: firstOffset,
  })
  const last = spans.at(-1) ?? { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY, offset: firstOffset }
  return {
    id,
    spanAt(epochMs) {
      if (epochMs >= last.from && future !== undefined) {
        const span = future(epochMs)
        return span.from >= last.from ? span : { ...span, from: last.from }
      }
      let [low, high] = [0, spans.length - 1]
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if ((spans[middle]?.from ?? 0) <= epochMs) low = middle
        else high = middle - 1
      }
      return spans[low] ?? last
    },
  }
}
