import { randomBytes, randomInt } from 'node:crypto'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { type Home, readJson, writeJson } from './home.ts'

/** Everything secret of one stack. Made once, kept in `secrets.json` for the owner of the files alone. */
export interface Secrets {
  postgres: { superuser: string; owner: string; app: string; engine: string }
  apiKey: string
  oidcClientSecret: string
  cookieKey: string
  /** Seals what the console's session store holds. */
  sessionKey: string
  objectStore: { accessKey: string; secretKey: string }
  passwords: { owner: string; operator: string; viewer: string }
}

/** The secrets of a home; what is missing is made now. */
export function keepSecrets(home: Home): Secrets {
  const file = home.file('secrets.json')
  const secrets = { ...newSecrets(), ...readJson<Partial<Secrets>>(file) }
  writeJson(file, secrets, 0o600)
  chmodSync(file, 0o600)
  return secrets
}

/** The file of the local key-encryption key (32 random bytes, base64), made once. */
export function keepKeyFile(home: Home): string {
  const file = home.file('key-encryption.key')
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  return file
}

const token = (bytes = 24): string => randomBytes(bytes).toString('base64url')

function newSecrets(): Secrets {
  return {
    postgres: { superuser: token(), owner: token(), app: token(), engine: token() },
    apiKey: `mk_${token(32)}`,
    oidcClientSecret: token(),
    cookieKey: token(),
    sessionKey: token(32),
    objectStore: { accessKey: token(12), secretKey: token() },
    passwords: { owner: phrase(), operator: phrase(), viewer: phrase() },
  }
}

// Without letters and digits that look alike: a person types these.
const letters = 'abcdefghjkmnpqrstuvwxyz23456789'
const phrase = (): string =>
  Array.from({ length: 3 }, () => Array.from({ length: 4 }, () => letters[randomInt(letters.length)]).join('')).join(
    '-',
  )
