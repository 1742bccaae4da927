import { CONSOLE_URL } from '$app/env/private'
import { formTargets } from './oidc.ts'

const isSecure = CONSOLE_URL.protocol === 'https:'

/** How every cookie of ours is set, but for how long it lives. */
export const cookieBase = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure } as const

const fixed: Record<string, string> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  ...(isSecure ? { 'strict-transport-security': 'max-age=31536000; includeSubDomains' } : {}),
}

/** Adds the headers that every answer carries. Pages hold what belongs to one person, so nobody may keep them. */
export async function secure(response: Response): Promise<void> {
  for (const [name, value] of Object.entries(fixed)) response.headers.set(name, value)
  if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'private, no-store')
  const policy = response.headers.get('content-security-policy')
  if (policy) response.headers.set('content-security-policy', await withFormTargets(policy))
}

/** Signing out is a form whose answer leads to the identity provider, which is only known when the server runs. */
async function withFormTargets(policy: string): Promise<string> {
  const targets = await formTargets().catch(() => [])
  return targets.length === 0 ? policy : policy.replace("form-action 'self'", `form-action 'self' ${targets.join(' ')}`)
}
