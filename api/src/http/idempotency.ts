import { hash } from 'node:crypto'
import { AppError } from '@meridian/core/kernel/errors'
import { canonicalJson } from './json.ts'

/** The key a create was sent with, and the SHA-256 of what was asked. */
export interface Idempotency {
  key: string
  fingerprint: Buffer
}

const printable = /^[\x20-\x7e]{1,255}$/

/**
 * Reads `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07; the quotes of a structured string are
 * optional here). The print covers method, path and the parsed body, so white space, the order of keys and defaults
 * make no difference. Throws `malformed-request`, or `idempotency-key-required`.
 */
export function readIdempotency(
  header: string | undefined,
  isRequired: boolean,
  request: { method: string; path: string; body: unknown },
): Idempotency | null {
  if (header === undefined) {
    if (!isRequired) return null
    throw new AppError('idempotency-key-required', 'This project takes creates only with the header Idempotency-Key.')
  }
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (!printable.test(key)) {
    throw new AppError('malformed-request', 'The header Idempotency-Key must be 1 to 255 printable ASCII characters.')
  }
  return {
    key,
    fingerprint: hash('sha256', `${request.method} ${request.path}\n${canonicalJson(request.body)}`, 'buffer'),
  }
}
