import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'

/** What an installation signs with: Ed25519, so that anybody with the public part can check it. */
export interface InstallationKey {
  /** The thumbprint of the public part (RFC 7638). */
  readonly id: string
  /** The public part as it is published (RFC 8037). */
  readonly publicJwk: { kty: 'OKP'; crv: 'Ed25519'; x: string; kid: string; alg: 'EdDSA'; use: 'sig' }
  /** A JWS in its compact form (RFC 7515) over the JSON of a value. */
  sign(type: string, value: unknown): string
}

/**
 * The key of a file (PKCS #8, PEM), which is made when it is not there yet. Any number of processes may start at once:
 * the first one's key is everybody's. Throws when the file can neither be read nor made.
 */
export async function keepInstallationKey(path: string): Promise<InstallationKey> {
  const known = await readFile(path, 'utf8').catch(whenMissing)
  return fromPem(known ?? (await makeKey(path)))
}

function whenMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
  return undefined
}

async function makeKey(path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  try {
    // A link is there whole or not at all, and never takes the place of another.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { force: true })
  }
  return readFile(path, 'utf8')
}

function fromPem(pem: string): InstallationKey {
  const key = createPrivateKey(pem)
  const { crv, kty, x } = createPublicKey(key).export({ format: 'jwk' })
  if (kty !== 'OKP' || crv !== 'Ed25519' || x === undefined) throw new Error('the installation key must be of Ed25519')
  const id = createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url')
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return {
    id,
    publicJwk: { ...{ crv, kty, x }, kid: id, alg: 'EdDSA', use: 'sig' },
    sign(type, value) {
      const signed = `${encode({ alg: 'EdDSA', kid: id, typ: type })}.${encode(value)}`
      return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
    },
  }
}
