import { AppError } from './errors.ts'
import { isUuid, type Uuid } from './ids.ts'

/** One page of a list. `nextCursor` is null on the last page. */
export interface Page<T> {
  items: T[]
  nextCursor: string | null
}

export interface PageRequest {
  cursor?: string | undefined
  /** 1..200 */
  limit: number
}

/** Pages are keyset cursors over ids: stable while rows are inserted, and they always advance. */
export const encodeCursor = (lastId: Uuid): string =>
  Buffer.from(lastId.replaceAll('-', ''), 'hex').toString('base64url')

/** The id a cursor points behind. Throws `malformed-request` for a text that `encodeCursor` never made. */
export function decodeCursor(cursor: string): Uuid {
  const hex = Buffer.from(cursor, 'base64url').toString('hex')
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  if (!isUuid(id) || encodeCursor(id) !== cursor) throw notACursor()
  return id
}

const notACursor = (): AppError =>
  new AppError('malformed-request', 'The cursor is not one that this list gave out.', {
    errors: [{ pointer: '/cursor', detail: 'not a cursor of this list' }],
  })

/** The cursor of a list of versions. */
export const encodeVersion = (version: number): string => Buffer.from(String(version)).toString('base64url')

/** The version a cursor points behind. Throws `malformed-request` for a text that `encodeVersion` never made. */
export function decodeVersion(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (/^\d{1,9}$/.test(text) && encodeVersion(Number(text)) === cursor) return Number(text)
  throw notACursor()
}

/** Cuts the one row asked for beyond the page, and says where the next page starts. */
export function toPage<T extends { id: Uuid }>(rows: T[], limit: number): Page<T> {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, nextCursor: rows.length > limit && last ? encodeCursor(last.id) : null }
}
