import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** Wraps and unwraps data keys. The wrapping key never leaves the provider. */
export interface KeyProvider {
  readonly name: string
  wrap(dataKey: Buffer): Promise<Buffer>
  unwrap(wrapped: Buffer): Promise<Buffer>
}

/**
 * A provider over one local file: 32 bytes, base64. For a single installation; a KMS provider takes its place where
 * the disk is not trusted.
 */
export async function localFileKeyProvider(path: string): Promise<KeyProvider> {
  const bytes = Buffer.from((await readFile(path, 'utf8')).trim(), 'base64')
  if (bytes.length !== 32) throw new Error(`the key file must hold 32 bytes in base64, not ${bytes.length}`)
  return keyProviderOf(createSecretKey(bytes))
}

/** A provider over a key already in memory. */
export function keyProviderOf(key: KeyObject): KeyProvider {
  return {
    name: 'local-file',
    wrap: async (dataKey) => {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, iv)
      return Buffer.concat([iv, cipher.update(dataKey), cipher.final(), cipher.getAuthTag()])
    },
    unwrap: async (wrapped) => {
      const decipher = createDecipheriv('aes-256-gcm', key, wrapped.subarray(0, 12))
      decipher.setAuthTag(wrapped.subarray(-16))
      return Buffer.concat([decipher.update(wrapped.subarray(12, -16)), decipher.final()])
    },
  }
}
