import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

/** An identity provider as far as the API looks at it: its metadata, its keys, its tokens. */
export interface Issuer {
  url: string
  /** A signed token; claims given replace those of an honest one. */
  token(
    claims?: JWTPayload,
    options?: { algorithm?: string; key?: CryptoKey | Uint8Array; keyId?: string },
  ): Promise<string>
  /** Replaces the signing key, as a provider does now and then. */
  rotate(): Promise<void>
  setUp(isUp: boolean): void
  close(): Promise<void>
}

export const clientId = 'meridian-console'

export async function startIssuer(): Promise<Issuer> {
  let generation = 0
  let isUp = true
  let pair = await generateKeyPair('RS256', { extractable: true })
  let jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: `k${generation}`, alg: 'RS256', use: 'sig' }] }
  const server = createServer((incoming, outgoing) => {
    if (!isUp) {
      incoming.socket.destroy()
      return
    }
    const body =
      incoming.url === '/keys' ? jwks : { issuer: url, jwks_uri: `${url}/keys`, authorization_endpoint: `${url}/auth` }
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    token: (claims = {}, { algorithm = 'RS256', key = pair.privateKey, keyId = `k${generation}` } = {}) => {
      const now = Math.floor(Date.now() / 1_000)
      const honest = {
        iss: url,
        aud: clientId,
        sub: 'olive',
        email: 'olive@example.com',
        email_verified: true,
        iat: now,
        exp: now + 300,
      }
      return new SignJWT({ ...honest, ...claims }).setProtectedHeader({ alg: algorithm, kid: keyId }).sign(key)
    },
    rotate: async () => {
      generation += 1
      pair = await generateKeyPair('RS256', { extractable: true })
      jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: `k${generation}`, alg: 'RS256', use: 'sig' }] }
    },
    setUp: (up) => {
      isUp = up
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
