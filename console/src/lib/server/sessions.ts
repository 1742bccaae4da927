import { building } from '$app/env'
import { REDIS_URL, SESSION_DIR, SESSION_KEY } from '$app/env/private'
import { log } from './log.ts'
import { Sealer } from './seal.ts'
import { Sessions } from './session.ts'
import { fileStore, redisStore, type SessionStore } from './session-store.ts'

function chooseStore(): SessionStore {
  if (REDIS_URL) return redisStore(REDIS_URL, (error) => log.warn({ err: error }, 'the session store does not answer'))
  if (SESSION_DIR) return fileStore(SESSION_DIR)
  if (building) return { get: async () => undefined, set: async () => {}, delete: async () => {} }
  throw new Error('Sessions need a place: set REDIS_URL, or SESSION_DIR for a single console')
}

/** The sessions of this console, in Redis when there is one, else in a folder. */
export const sessions = new Sessions(chooseStore(), new Sealer(SESSION_KEY, 'session'))
