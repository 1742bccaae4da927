import { createHash, randomBytes } from 'node:crypto'
import type { Sealer } from './seal.ts'
import type { SessionStore } from './session-store.ts'

/** What the console remembers of a signed-in person. It stays on the server; the browser holds a random id. */
export interface Session {
  /** The API's session token. */
  token: string
  /** Names the sign-in to the identity provider when the person signs out. */
  idToken: string
  user: { id: string; email: string; name: string }
  /** The absolute end; the API may end the session earlier. */
  expiresAt: string
}

export const sessionCookie = 'meridian_session'

/**
 * The server side of sessions. The store sees only a hash of the id and a sealed value bound to it, so reading the
 * store gives neither a cookie nor a token.
 */
export class Sessions {
  readonly #store: SessionStore
  readonly #sealer: Sealer

  constructor(store: SessionStore, sealer: Sealer) {
    this.#store = store
    this.#sealer = sealer
  }

  /** Keeps the session under a new random id of 256 bits and returns the id. */
  async create(session: Session): Promise<string> {
    const id = randomBytes(32).toString('base64url')
    const key = keyOf(id)
    await this.#store.set(key, this.#sealer.seal(session, key), new Date(session.expiresAt))
    return id
  }

  /** Returns the session, or undefined when there is none, it has ended, or it cannot be opened. */
  async read(id: string): Promise<Session | undefined> {
    const key = keyOf(id)
    const sealed = await this.#store.get(key)
    const session = sealed === undefined ? undefined : this.#sealer.open(sealed, key)
    return isSession(session) && Date.parse(session.expiresAt) > Date.now() ? session : undefined
  }

  /** Forgets the session; its id opens nothing from now on. */
  async destroy(id: string): Promise<void> {
    await this.#store.delete(keyOf(id))
  }
}

const keyOf = (id: string): string => createHash('sha256').update(id).digest('hex')

const isSession = (value: unknown): value is Session =>
  typeof value === 'object' && value !== null && 'token' in value && 'user' in value && 'expiresAt' in value
