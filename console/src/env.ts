import { defineEnvVars } from '@sveltejs/kit/env'
import { building } from '$app/env'

// The build runs the server once to analyse it, without an environment; placeholders get it through.
const url = (value: string | undefined): URL => new URL(required(value, 'http://build.invalid'))
const text = (value: string | undefined): string => required(value, 'placeholder of the build, never used')
const optional = (value: string | undefined): string | undefined => value || undefined

function required(value: string | undefined, placeholder: string): string {
  if (building) return placeholder
  if (!value) throw new Error('is required')
  return value
}

/** What the console needs to know. Read once when the server starts; a missing or malformed value stops it. */
export const variables = defineEnvVars({
  API_URL: { schema: url, description: 'Where the API answers, as seen from the console' },
  CONSOLE_URL: { schema: url, description: 'The address people open; sign-in comes back to it' },
  OIDC_ISSUER: { schema: url, description: 'The identity provider' },
  OIDC_CLIENT_ID: { schema: text },
  OIDC_CLIENT_SECRET: { schema: optional, description: 'Absent for a public client' },
  SESSION_KEY: {
    description: 'Seals what the session store holds; the same on every replica, at least 32 characters',
    schema: (value) => {
      const key = text(value)
      if (key.length < 32) throw new Error('needs at least 32 characters')
      return key
    },
  },
  REDIS_URL: { schema: optional, description: 'Sessions are kept here, so that replicas share them' },
  SESSION_DIR: { schema: optional, description: 'Without Redis: the folder that keeps sessions over a restart' },
  LOG_LEVEL: { schema: (value) => value || 'info' },
})
