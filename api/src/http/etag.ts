import { hash } from 'node:crypto'
import { AppError } from '@meridian/core/kernel/errors'

/**
 * `"<version>-<digest>"`. The digest makes a cached copy stale as soon as anything in it changed; for edits only the
 * version counts, so that a job which merely ran is not a conflict.
 */
export const toEtag = (version: number, json: string): string =>
  `"${version}-${hash('sha1', json, 'hex').slice(0, 12)}"`

/** Whether `If-None-Match` names this very representation. Weak and strong tags compare alike here (RFC 9110, 13.1.2). */
export const matchesEtag = (header: string | undefined, etag: string): boolean =>
  header?.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag) === true

/** The version that `If-Match` asks for; undefined when there is no such header or any version will do. */
export function expectedVersion(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  const version = /^(?:W\/)?"(\d{1,9})(?:-[0-9a-f]+)?"$/.exec(header.trim())?.[1]
  if (version === undefined) {
    throw new AppError('malformed-request', 'The header If-Match must be one ETag that this API gave out, or *.')
  }
  return Number(version)
}
