import { AppError, notFound } from '@meridian/core/kernel/errors'
import { fromWireId, type IdPrefix, isUuid, toWireId, type Uuid, wireIdPattern } from '@meridian/core/kernel/ids'
import { isoInstant } from '@meridian/core/kernel/instant'
import { z } from 'zod'

/** What an id of that kind is called in a sentence. */
const nouns: Partial<Record<IdPrefix, string>> = {
  prj: 'project',
  key: 'API key',
  job: 'job',
  run: 'run',
  usr: 'user',
  evt: 'event',
  blk: 'blackout',
  lim: 'limit',
  op: 'operation',
  clk: 'test clock',
  imp: 'import',
  brk: 'breaker',
}

const idMeta = (prefix: IdPrefix) => ({
  type: 'string' as const,
  pattern: wireIdPattern(prefix).source,
  examples: [`${prefix}_01h455vb4pex5vsknk084sn02q`],
})

/** An id in a path, as its UUID. What is no id of that kind is answered as one that does not exist. */
export const pathId = (prefix: IdPrefix) =>
  z
    .string()
    .transform((text): Uuid => {
      const id = fromWireId(prefix, text)
      if (id === null) throw notFound(nouns[prefix] ?? 'thing')
      return id
    })
    .meta(idMeta(prefix))

/** An id in a body or a query, as its UUID. */
export const idReference = (prefix: IdPrefix) =>
  z
    .string()
    .transform((text, context): Uuid => {
      const id = fromWireId(prefix, text)
      if (id !== null) return id
      context.addIssue({ code: 'custom', message: `must be an id such as ${idMeta(prefix).examples[0]}` })
      return z.NEVER
    })
    .meta(idMeta(prefix))

/** An id in an answer. */
export const wireId = (prefix: IdPrefix) => z.string().regex(wireIdPattern(prefix)).meta(idMeta(prefix))

/** An instant in an answer: UTC, milliseconds. */
export const instant = z.string().meta({ format: 'date-time', examples: ['2026-03-29T05:25:00.000Z'] })

const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/

/** An instant in a body or a query, as a Date. Finer than a millisecond is cut off. */
export const instantInput = z
  .string()
  .transform((text, context): Date => {
    const date = new Date(instantPattern.test(text) ? text : Number.NaN)
    if (!Number.isNaN(date.getTime())) return date
    context.addIssue({ code: 'custom', message: 'must be an ISO 8601 instant such as 2026-03-29T05:25:00.000Z' })
    return z.NEVER
  })
  .meta({ type: 'string', format: 'date-time', examples: ['2026-03-29T05:25:00.000Z'] })

export const toInstant = (date: Date): string => isoInstant(date.getTime())
export const toInstantOrNull = (date: Date | null): string | null => (date === null ? null : toInstant(date))
export const toWireIdOrNull = (prefix: IdPrefix, id: Uuid | null): string | null =>
  id === null ? null : toWireId(prefix, id)

/** Who did something, as an id that says what they are. */
export const actor = z
  .string()
  .meta({ description: 'A key, a person, or `system`.', examples: ['usr_01h455vb4pex5vsknk084sn02q', 'system'] })

/** `key:<uuid>`, `user:<uuid>`, `system` -> `key_…`, `usr_…`, `system`. */
export function toActor(text: string): string {
  const [kind = '', id] = text.split(':')
  if (id === undefined) return text
  return toWireId(kind === 'key' ? 'key' : 'usr', id)
}
export const toActorOrNull = (text: string | null): string | null => (text === null ? null : toActor(text))

/** A query parameter that may be repeated, or hold several values separated by commas. */
export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.preprocess(
    (value) =>
      typeof value === 'string'
        ? value.split(',')
        : Array.isArray(value)
          ? value.flatMap((part) => String(part).split(','))
          : value,
    z.array(item),
  )

/** A query parameter that may be repeated; each value is taken whole. */
export const repeated = <Item extends z.ZodType>(item: Item, most: number) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item).max(most))

/** A query parameter that asks for a rehearsal. */
export const dryRunFlag = (description: string) =>
  z
    .stringbool({ truthy: ['true', '1'], falsy: ['false', '0'], error: 'must be true or false' })
    .default(false)
    .meta({ type: 'boolean', description })

/** A query parameter that is a whole number. */
export const wholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum))

/** The result of a verb whose conflicts name another thing of that kind: by its id on the wire. */
export async function naming<Result>(prefix: IdPrefix, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const id = error.extra.current?.id
    if (typeof id !== 'string' || !isUuid(id)) throw error
    throw new AppError(error.code, error.message, {
      ...error.extra,
      current: { ...error.extra.current, id: toWireId(prefix, id) },
    })
  }
}
