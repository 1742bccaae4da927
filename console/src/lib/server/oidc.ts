import * as client from 'openid-client'
import { CONSOLE_URL, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_ISSUER, SESSION_KEY } from '$app/env/private'
import { Sealer } from './seal.ts'

/** What one sign-in needs to remember between leaving for the identity provider and coming back. */
interface Attempt {
  state: string
  nonce: string
  verifier: string
  returnTo: string
  expiresAt: number
}

/** Names the cookie that binds a sign-in to the browser that began it; one per attempt, so two tabs do not clash. */
export const attemptCookie = (state: string): string => `meridian_signin_${state.slice(0, 12)}`

export const attemptSeconds = 600
const rediscoverMilliseconds = 3_600_000
const sealer = new Sealer(SESSION_KEY, 'sign-in attempt')
const redirectUri = new URL('/auth/callback', CONSOLE_URL).href

let discovered: { configuration: Promise<client.Configuration>; at: number } | undefined

/** The provider's metadata, read once an hour; a failed read is not kept. */
async function configuration(): Promise<client.Configuration> {
  if (!discovered || Date.now() - discovered.at > rediscoverMilliseconds) {
    const reading = discover()
    discovered = { configuration: reading, at: Date.now() }
    reading.catch(() => {
      discovered = undefined
    })
  }
  return discovered.configuration
}

async function discover(): Promise<client.Configuration> {
  const authentication = OIDC_CLIENT_SECRET ? client.ClientSecretBasic(OIDC_CLIENT_SECRET) : client.None()
  const found = await client.discovery(OIDC_ISSUER, OIDC_CLIENT_ID, undefined, authentication, {
    execute: OIDC_ISSUER.protocol === 'http:' ? [client.allowInsecureRequests] : [],
    timeout: 10,
  })
  // The ID token is handed on to the API, so its signature is checked even though it comes straight from the issuer.
  client.enableNonRepudiationChecks(found)
  return found
}

/** Begins a sign-in: where to send the browser, and the sealed attempt to keep in a cookie meanwhile. */
export async function beginSignIn(returnTo: string): Promise<{ url: URL; state: string; sealed: string }> {
  const [state, nonce, verifier] = [client.randomState(), client.randomNonce(), client.randomPKCECodeVerifier()]
  const attempt: Attempt = { state, nonce, verifier, returnTo, expiresAt: Date.now() + attemptSeconds * 1_000 }
  const url = client.buildAuthorizationUrl(await configuration(), {
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid email profile',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  })
  return { url, state, sealed: sealer.seal(attempt, state) }
}

/**
 * Finishes a sign-in. Checks that this browser began it, then state, issuer, code, PKCE, nonce and the ID token's
 * signature and claims. Returns undefined when the attempt is unknown or older than ten minutes; throws when the
 * provider refuses or anything does not match.
 */
export async function finishSignIn(
  callback: URL,
  sealed: string | undefined,
): Promise<{ idToken: string; returnTo: string } | undefined> {
  const state = callback.searchParams.get('state') ?? ''
  const attempt = sealed ? (sealer.open(sealed, state) as Attempt | undefined) : undefined
  if (!attempt || attempt.expiresAt < Date.now()) return undefined
  const tokens = await client.authorizationCodeGrant(await configuration(), new URL(callback.search, redirectUri), {
    expectedState: attempt.state,
    expectedNonce: attempt.nonce,
    pkceCodeVerifier: attempt.verifier,
    idTokenExpected: true,
  })
  if (!tokens.id_token) throw new Error('the identity provider sent no ID token')
  return { idToken: tokens.id_token, returnTo: attempt.returnTo }
}

/** Where to send the browser so that the identity provider ends its own session too, if it can. */
export async function signOutUrl(idToken: string): Promise<URL | undefined> {
  const found = await configuration()
  if (!found.serverMetadata().end_session_endpoint) return undefined
  return client.buildEndSessionUrl(found, {
    id_token_hint: idToken,
    post_logout_redirect_uri: new URL('/login', CONSOLE_URL).href,
  })
}

/** Origins a form may lead to: signing out is a form whose answer redirects to the provider. */
export async function formTargets(): Promise<string[]> {
  const endpoint = (await configuration()).serverMetadata().end_session_endpoint
  return endpoint ? [new URL(endpoint).origin] : []
}
