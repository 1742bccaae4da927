import { parseBasicTime, type Until } from './rrule-text.ts'

/** One line of iCalendar text (RFC 5545, 3.1): `DTSTART;TZID=Europe/London:20260101T090000`. */
export interface ContentLine {
  readonly name: string
  readonly params: ReadonlyMap<string, string>
  readonly value: string
}

/** A time of a line as written, and the zone that it names. */
export interface IcsTime {
  readonly time: Until
  readonly timezone?: string
}

const contentLine = /^([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+=(?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*)*):(.*)$/

/** The lines of a text with folded ones joined; one that is no content line has an empty name and is its value. */
export function contentLines(text: string): ContentLine[] {
  const unfolded = text.replace(/\r?\n[ \t]/g, '')
  return unfolded.split(/\r?\n/).flatMap((line) => {
    const trimmed = line.trim()
    if (trimmed === '') return []
    const [, name = '', params = '', value = trimmed] = contentLine.exec(trimmed) ?? []
    const pairs = [...params.matchAll(/;([A-Za-z0-9-]+)=((?:"[^"]*"|[^";])*)/g)]
    return [
      {
        name: name.toUpperCase(),
        params: new Map(pairs.map(([, key = '', given = '']) => [key.toUpperCase(), given.replaceAll('"', '')])),
        value: value.trim(),
      },
    ]
  })
}

/** The dates and times of a line; `undefined` for each that is none. */
export function icsTimes({ params, value }: ContentLine): (IcsTime | undefined)[] {
  const timezone = params.get('TZID')
  return value.split(',').map((text) => {
    const time = parseBasicTime(text.trim().toUpperCase())
    if (time === undefined || params.get('VALUE')?.toUpperCase() === 'PERIOD') return undefined
    return timezone === undefined || time.kind !== 'wall' ? { time } : { time, timezone }
  })
}
