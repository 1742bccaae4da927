import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { remove } from './home.ts'
import { type IdentitySettings, startIdentity } from './identity.ts'
import { findFreePort } from './ports.ts'

const redirectUri = 'http://127.0.0.1:9/auth/callback'
const afterSignOut = 'http://127.0.0.1:9/login'
const folder = mkdtempSync(join(tmpdir(), 'meridian-identity-'))
let settings: IdentitySettings
let server: Server
let configuration: client.Configuration

beforeAll(async () => {
  settings = {
    port: await findFreePort(),
    folder,
    cookieKey: 'a key for cookies',
    client: {
      id: 'meridian-console',
      secret: 'a secret',
      redirectUris: [redirectUri],
      postLogoutRedirectUris: [afterSignOut],
    },
    people: [{ subject: 'person-owner', email: 'owner@acme.test', name: 'Olive Owner', password: 'right' }],
  }
  server = await startIdentity(settings)
  const issuer = new URL(`http://127.0.0.1:${settings.port}`)
  configuration = await client.discovery(issuer, 'meridian-console', 'a secret', undefined, {
    execute: [client.allowInsecureRequests],
  })
})

afterAll(async () => {
  await stop()
  remove(folder)
})

async function stop(): Promise<void> {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}

/** A browser that keeps cookies and stops where it would leave the provider. */
class Browser {
  readonly #cookies = new Map<string, string>()

  async open(url: string | URL, form?: Record<string, string>): Promise<{ response: Response; url: URL }> {
    let target = new URL(url)
    let body: URLSearchParams | undefined = form && new URLSearchParams(form)
    for (;;) {
      const response = await fetch(target, {
        redirect: 'manual',
        headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        ...(body && { method: 'POST', body }),
      })
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
        if (value === '') this.#cookies.delete(name)
        else this.#cookies.set(name, value)
      }
      const location = response.headers.get('location')
      if (location === null) return { response, url: target }
      target = new URL(location, target)
      body = undefined
      if (target.port !== String(settings.port)) return { response, url: target }
    }
  }
}

async function authorization(extra: Record<string, string> = {}) {
  const verifier = client.randomPKCECodeVerifier()
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: 'openid email profile',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: 'a state',
    nonce: 'a nonce',
    ...extra,
  })
  return { url, checks: { pkceCodeVerifier: verifier, expectedState: 'a state', expectedNonce: 'a nonce' } }
}

async function signIn(browser: Browser, password = 'right') {
  const { url, checks } = await authorization()
  const form = await browser.open(url)
  const answer = await browser.open(form.url, { email: 'owner@acme.test', password })
  return { ...answer, checks }
}

test('a person signs in with code and PKCE, and the ID token says who it is', async () => {
  const { url, checks } = await signIn(new Browser())
  const tokens = await client.authorizationCodeGrant(configuration, url, checks)
  expect(tokens.claims()).toMatchObject({
    sub: 'person-owner',
    email: 'owner@acme.test',
    email_verified: true,
    name: 'Olive Owner',
    aud: 'meridian-console',
  })
  const person = await client.fetchUserInfo(configuration, tokens.access_token, 'person-owner')
  expect(person.email).toBe('owner@acme.test')
})

test('a wrong password is told on the page, keeps the e-mail, and signs nobody in', async () => {
  const { response, url } = await signIn(new Browser(), 'wrong')
  expect(response.status).toBe(401)
  const html = await response.text()
  expect(html).toContain('role="alert"')
  expect(html).toContain('value="owner@acme.test"')
  expect(url.searchParams.has('code')).toBe(false)
})

test('a request without PKCE is refused', async () => {
  const url = client.buildAuthorizationUrl(configuration, { redirect_uri: redirectUri, scope: 'openid', state: 's' })
  const { url: end } = await new Browser().open(url)
  expect(end.searchParams.get('error')).toBe('invalid_request')
  expect(end.searchParams.has('code')).toBe(false)
})

test('a code can not be redeemed with another verifier', async () => {
  const { url, checks } = await signIn(new Browser())
  const wrong = { ...checks, pkceCodeVerifier: client.randomPKCECodeVerifier() }
  await expect(client.authorizationCodeGrant(configuration, url, wrong)).rejects.toMatchObject({
    error: 'invalid_grant',
  })
})

test('an unknown redirect address gets a page, not a redirect', async () => {
  const { url } = await authorization({ redirect_uri: 'http://127.0.0.1:9/elsewhere' })
  const { response } = await new Browser().open(url)
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('invalid_redirect_uri')
})

test('a cancelled sign-in goes back with access_denied', async () => {
  const browser = new Browser()
  const form = await browser.open((await authorization()).url)
  const { url } = await browser.open(form.url, { cancel: 'yes' })
  expect(url.searchParams.get('error')).toBe('access_denied')
})

test('the session, its refresh token and the signing key outlive a restart', async () => {
  const browser = new Browser()
  const { url, checks } = await signIn(browser)
  const tokens = await client.authorizationCodeGrant(configuration, url, checks)
  const jwks = (): Promise<string> => fetch(`http://127.0.0.1:${settings.port}/jwks`).then((answer) => answer.text())
  const keysBefore = await jwks()
  await stop()
  server = await startIdentity(settings)
  // The first request may still take a connection that the stopped server closed.
  expect(await vi.waitFor(jwks)).toBe(keysBefore)
  const refreshed = await client.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
  expect(refreshed.claims()?.sub).toBe('person-owner')
  const again = await authorization()
  const { url: callback } = await browser.open(again.url)
  expect((await client.authorizationCodeGrant(configuration, callback, again.checks)).claims()?.sub).toBe(
    'person-owner',
  )
})

test('signing out ends the session, and the next sign-in asks for the password again', async () => {
  const browser = new Browser()
  const { url, checks } = await signIn(browser)
  const tokens = await client.authorizationCodeGrant(configuration, url, checks)
  const page = await browser.open(
    client.buildEndSessionUrl(configuration, {
      id_token_hint: tokens.id_token ?? '',
      post_logout_redirect_uri: afterSignOut,
    }),
  )
  const html = await page.response.text()
  const [, action = ''] = /action="([^"]+)"/.exec(html) ?? []
  const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(html) ?? []
  const { url: end } = await browser.open(action, { xsrf, logout: 'yes' })
  expect(end.href).toBe(afterSignOut)
  const form = await browser.open((await authorization()).url)
  expect(form.url.pathname).toMatch(/^\/interaction\//)
  expect(await form.response.text()).toContain('name="password"')
})
