import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'

// format(1) key version(2) iv(12) ciphertext tag(16)
const headBytes = 15
const tagBytes = 16
const format = 1

/** A data key and the version under which it is stored. */
export interface DataKey {
  version: number
  key: KeyObject
}

// A random IV per message may repeat after 2^32 messages of one key, which a busy tenant reaches. A random
// prefix a process and a counter can't.
let prefix = randomBytes(8)
let counter = 0

/**
 * Encrypts with AES-256-GCM. `context` (tenant and row id) is authenticated but not stored, so an envelope copied to
 * another row does not open.
 */
export function seal(dataKey: DataKey, context: string, plain: Buffer): Buffer {
  if (counter === 0xffffffff) {
    prefix = randomBytes(8)
    counter = 0
  }
  const sealed = Buffer.allocUnsafe(headBytes + plain.length + tagBytes)
  sealed[0] = format
  sealed.writeUInt16BE(dataKey.version, 1)
  prefix.copy(sealed, 3)
  sealed.writeUInt32BE(++counter, 11)
  const cipher = createCipheriv('aes-256-gcm', dataKey.key, sealed.subarray(3, headBytes))
  cipher.setAAD(Buffer.from(context, 'latin1'))
  cipher.update(plain).copy(sealed, headBytes)
  cipher.final()
  cipher.getAuthTag().copy(sealed, headBytes + plain.length)
  return sealed
}

/** Which data key an envelope needs. */
export function envelopeKeyVersion(sealed: Buffer): number {
  if (sealed[0] !== format || sealed.length < headBytes + tagBytes) throw new Error('not an envelope')
  return sealed.readUInt16BE(1)
}

/** The plaintext. Throws when the key, the context, or a byte is not the one it was sealed with. */
export function open(key: KeyObject, context: string, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(3, headBytes))
  decipher.setAAD(Buffer.from(context, 'latin1'))
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  const plain = decipher.update(sealed.subarray(headBytes, -tagBytes))
  decipher.final()
  return plain
}
