import type { Identity } from '@meridian/core/access/sessions'
import { AppError, dependencyUnavailable } from '@meridian/core/kernel/errors'
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'

export interface IdTokenVerifier {
  /** Throws `unauthenticated` for a token that is not the provider's, not for us, or too old. */
  verify(idToken: string): Promise<Identity>
}

// No symmetric ones: their key would be the client's secret, and "none" must never pass.
const algorithms = ['RS256', 'ES256', 'EdDSA']
const toleranceSeconds = 5
const tokenAgeMaxSeconds = 600
const timeoutMs = 5_000
/** An unknown key id makes us ask again, at most this often: a rotated key works without a restart. */
const refetchCooldownMs = 1_000

/** Verifies ID tokens of one issuer by the keys it publishes. Its metadata is read when it is first needed. */
export function createIdTokenVerifier({ issuer, clientId }: { issuer: string; clientId: string }): IdTokenVerifier {
  let keySet: Promise<ReturnType<typeof createRemoteJWKSet>> | undefined
  const keys = (): Promise<ReturnType<typeof createRemoteJWKSet>> => {
    keySet ??= discover(issuer).then((url) =>
      createRemoteJWKSet(url, { timeoutDuration: timeoutMs, cooldownDuration: refetchCooldownMs }),
    )
    keySet.catch(() => {
      keySet = undefined
    })
    return keySet
  }
  return {
    async verify(idToken) {
      const getKey = await keys()
      try {
        const { payload } = await jwtVerify(idToken, getKey, {
          issuer,
          audience: clientId,
          algorithms,
          clockTolerance: toleranceSeconds,
          maxTokenAge: tokenAgeMaxSeconds,
          requiredClaims: ['sub', 'exp', 'iat'],
        })
        return toIdentity(issuer, clientId, payload)
      } catch (error) {
        if (error instanceof errors.JWKSTimeout || !(error instanceof errors.JOSEError || error instanceof AppError)) {
          throw dependencyUnavailable('The identity provider', error)
        }
        if (error instanceof AppError) throw error
        throw new AppError('unauthenticated', 'The ID token is not valid.', { cause: error })
      }
    },
  }
}

async function discover(issuer: string): Promise<URL> {
  try {
    const response = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    })
    const metadata: unknown = await response.json()
    if (typeof metadata !== 'object' || metadata === null || !('issuer' in metadata) || metadata.issuer !== issuer) {
      throw new Error('the metadata is of another issuer')
    }
    if (!('jwks_uri' in metadata) || typeof metadata.jwks_uri !== 'string')
      throw new Error('the metadata names no keys')
    return new URL(metadata.jwks_uri)
  } catch (error) {
    throw dependencyUnavailable('The identity provider', error)
  }
}

function toIdentity(issuer: string, clientId: string, payload: JWTPayload): Identity {
  const { sub, email, email_verified: emailVerified, azp } = payload
  // OpenID Connect Core 3.1.3.7: with several audiences the authorised party must be us.
  if (Array.isArray(payload.aud) && payload.aud.length > 1 && azp !== clientId) {
    throw new AppError('unauthenticated', 'The ID token was made for another client.')
  }
  return {
    issuer,
    subject: sub ?? '',
    email: typeof email === 'string' ? email : '',
    emailVerified: emailVerified === true,
  }
}
