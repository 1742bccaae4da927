import { randomFillSync } from 'node:crypto'

/** Every kind of id that leaves the system carries its prefix; the database holds the bare UUID. */
export const idPrefixes = [
  'ten',
  'prj',
  'usr',
  'key',
  'job',
  'run',
  'que',
  'lim',
  'cal',
  'blk',
  'evt',
  'ses',
  'aud',
  'req',
  'exe',
  'op',
  'clk',
  'imp',
  'png',
  'brk',
] as const
export type IdPrefix = (typeof idPrefixes)[number]

/** A UUID in its canonical lower-case text form. */
export type Uuid = string

/** The id of "no row": stands for the tenant as a whole in `limits`. */
export const nilUuid: Uuid = '00000000-0000-0000-0000-000000000000'

// Asking the kernel for 16 bytes per id costs ten times the id itself, so the bytes come in pages.
const pageBytes = 16 * 512
const page = Buffer.alloc(pageBytes)
let offset = pageBytes
let lastMs = 0
let sequence = 0

/**
 * A UUIDv7 (RFC 9562, method 1 of 6.2): 48 bits of milliseconds, a 12-bit counter that keeps ids of one
 * process strictly increasing, 62 random bits. Ids tell their creation time: never use one as a secret.
 */
export function uuidv7(nowMs: number): Uuid {
  if (offset === pageBytes) {
    randomFillSync(page)
    offset = 0
  }
  const bytes = page.subarray(offset, offset + 16)
  offset += 16
  if (nowMs > lastMs) {
    lastMs = nowMs
    // The counter starts in its lower half, so a burst within one millisecond has room to count.
    sequence = bytes.readUInt16BE(6) & 0x7ff
  } else if (++sequence > 0xfff) {
    lastMs += 1
    sequence = 0
  }
  bytes.writeUIntBE(lastMs, 0, 6)
  bytes.writeUInt16BE(0x7000 | sequence, 6)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return formatUuid(bytes.toString('hex'))
}

const formatUuid = (hex: string): Uuid =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
export const isUuid = (text: string): boolean => uuidPattern.test(text)

/** The creation instant that a UUIDv7 carries, in epoch milliseconds. */
export const uuidTimeMs = (id: Uuid): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const digitPairs = [...alphabet].flatMap((high) => [...alphabet].map((low) => high + low))
const digitOf = new Map([...alphabet].map((character, index) => [character, BigInt(index)]))

/** `job` + UUID -> `job_01h455vb4pex5vsknk084sn02q` (the TypeID form: Crockford base 32, 26 characters). */
export function toWireId(prefix: IdPrefix, id: Uuid): string {
  const hex = id.replaceAll('-', '')
  // 128 bits in digits of five, two zero bits in front: the first 8 bits make two digits, then 40 bits make eight.
  const first = Number.parseInt(hex.slice(0, 2), 16)
  let text = `${prefix}_${digitPairs[first]}`
  for (let start = 2; start < 32; start += 10) {
    const high = Number.parseInt(hex.slice(start, start + 5), 16)
    const low = Number.parseInt(hex.slice(start + 5, start + 10), 16)
    text += `${digitPairs[high >> 10]}${digitPairs[high & 1023]}${digitPairs[low >> 10]}${digitPairs[low & 1023]}`
  }
  return text
}

/** The UUID behind a prefixed id, or `null` when the text is not an id of that kind. */
export function fromWireId(prefix: IdPrefix, text: string): Uuid | null {
  if (text.length !== prefix.length + 27 || !text.startsWith(`${prefix}_`)) return null
  let value = 0n
  for (const character of text.slice(prefix.length + 1)) {
    const digit = digitOf.get(character)
    if (digit === undefined) return null
    value = (value << 5n) | digit
  }
  // 26 characters hold 130 bits: the two highest must be zero.
  if (value >> 128n !== 0n) return null
  return formatUuid(value.toString(16).padStart(32, '0'))
}

/** A JSON-schema pattern for a prefixed id, for the API's parameters. */
export const wireIdPattern = (prefix: IdPrefix): RegExp => new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
