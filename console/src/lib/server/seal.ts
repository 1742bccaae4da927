import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const ivBytes = 12
const tagBytes = 16

/**
 * Seals JSON values with AES-256-GCM under a key derived from one secret for one purpose. A sealed value opens
 * only with the same purpose and the same binding, so it cannot be moved to another place.
 */
export class Sealer {
  readonly #key: Buffer

  constructor(secret: string, purpose: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'meridian console', purpose, 32))
  }

  /** Returns base64url text; every call uses a fresh random nonce. */
  seal(value: unknown, binding: string): string {
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(binding))
    const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** Returns the value, or undefined when the text was not sealed here, was altered, or is bound elsewhere. */
  open(text: string, binding: string): unknown {
    const bytes = Buffer.from(text, 'base64url')
    if (bytes.length < ivBytes + tagBytes) return undefined
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, ivBytes))
        .setAAD(Buffer.from(binding))
        .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
      const opened = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()])
      return JSON.parse(opened.toString('utf8'))
    } catch {
      return undefined
    }
  }
}
