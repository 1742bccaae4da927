import { createHash, generateKeyPairSync, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import Provider, { type Configuration, errors, type JWK } from 'oidc-provider'
import { readJson, writeJson } from './home.ts'
import { notePage, signInPage, signOutPage } from './identity-pages.ts'
import { openIdentityStore } from './identity-store.ts'
import { sendPage } from './page.ts'
import { readForm, serve } from './serve.ts'

export interface IdentityPerson {
  subject: string
  email: string
  name: string
  password: string
}

export interface IdentitySettings {
  port: number
  /** Keeps the signing keys, the sessions and the refresh tokens. */
  folder: string
  cookieKey: string
  client: { id: string; secret: string; redirectUris: string[]; postLogoutRedirectUris: string[] }
  people: IdentityPerson[]
}

const day = 86_400

/**
 * An OpenID Connect provider for the local stack: code flow with PKCE (S256) only, refresh tokens, sign-out started
 * by the client. Listens on the loopback address; its issuer is `http://127.0.0.1:<port>`.
 */
export async function startIdentity(settings: IdentitySettings): Promise<Server> {
  const provider = new Provider(`http://127.0.0.1:${settings.port}`, configure(settings))
  const handle = provider.callback()
  const server = createServer((request, response) => {
    if (request.url === '/') return sendPage(response, 200, notePage('Identity provider', 'It runs.'))
    if (!request.url?.startsWith('/interaction/')) return void handle(request, response)
    interact(provider, settings, request, response).catch((error: unknown) => {
      const isStale = error instanceof errors.SessionNotFound
      if (!isStale) process.stderr.write(`${String(error)}\n`)
      const text = isStale ? 'It took too long, or was begun in another browser. Begin again.' : 'Something went wrong.'
      sendPage(response, isStale ? 400 : 500, notePage('This sign-in can not go on', text))
    })
  })
  await serve(server, settings.port)
  return server
}

async function interact(
  provider: Provider,
  settings: IdentitySettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { uid } = await provider.interactionDetails(request, response)
  const view = { action: `/interaction/${uid}`, emails: settings.people.map((person) => person.email) }
  if (request.method !== 'POST') return sendPage(response, 200, signInPage(view))
  const form = await readForm(request)
  if (form.has('cancel')) {
    const result = { error: 'access_denied', error_description: 'The person cancelled the sign-in.' }
    return provider.interactionFinished(request, response, result)
  }
  const email = form.get('email') ?? ''
  const person = findPerson(settings.people, email, form.get('password') ?? '')
  if (!person) {
    const problem = 'The e-mail or the password is wrong.'
    return sendPage(response, 401, signInPage({ ...view, email, problem }))
  }
  return provider.interactionFinished(request, response, { login: { accountId: person.subject } })
}

function findPerson(people: IdentityPerson[], email: string, password: string): IdentityPerson | undefined {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return people.find(
    (person) =>
      person.email === email.trim().toLowerCase() && timingSafeEqual(digest(person.password), digest(password)),
  )
}

function configure(settings: IdentitySettings): Configuration {
  return {
    adapter: openIdentityStore(join(settings.folder, 'artifacts.sqlite')),
    clients: [
      {
        client_id: settings.client.id,
        client_secret: settings.client.secret,
        redirect_uris: settings.client.redirectUris,
        post_logout_redirect_uris: settings.client.postLogoutRedirectUris,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [signingKey(join(settings.folder, 'signing-key.json'))] },
    // Cookies know no ports: the names keep them apart from those of the console on the same address.
    cookies: {
      keys: [settings.cookieKey],
      names: { session: 'identity_session', interaction: 'identity_interaction', resume: 'identity_resume' },
    },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    // The console hands the ID token on, so e-mail and name have to be in it.
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx, form) => {
          ctx.body = signOutPage(form)
        },
        postLogoutSuccessSource: (ctx) => {
          ctx.body = notePage('Signed out', 'You can close this page.')
        },
      },
    },
    findAccount: (_ctx, subject) => {
      const person = settings.people.find((candidate) => candidate.subject === subject)
      if (!person) return undefined
      const claims = { sub: subject, email: person.email, email_verified: true, name: person.name }
      return { accountId: subject, claims: () => claims }
    },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    // The one client is the console itself: nobody has to consent to it.
    loadExistingGrant: async (ctx) => {
      const { client, session, provider } = ctx.oidc
      if (!client || !session?.accountId) return undefined
      const known = session.grantIdFor(client.clientId)
      const found = known && (await provider.Grant.find(known))
      if (found) return found
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
      grant.addOIDCScope('openid email profile offline_access')
      await grant.save()
      return grant
    },
    renderError: (ctx, out) => {
      ctx.type = 'html'
      ctx.body = notePage('This request can not be served', `${out.error}: ${out.error_description ?? ''}`)
    },
    ttl: {
      Session: 14 * day,
      Grant: 14 * day,
      RefreshToken: 14 * day,
      AccessToken: 3_600,
      IdToken: 3_600,
      Interaction: 3_600,
    },
  }
}

function signingKey(file: string): JWK {
  const kept = readJson<JWK>(file)
  if (kept) return kept
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' } as JWK
  writeJson(file, key, 0o600)
  return key
}

if (import.meta.main) {
  // Sessions and refresh tokens are nobody else's to read.
  process.umask(0o077)
  await startIdentity(JSON.parse(process.env.SETTINGS ?? '{}') as IdentitySettings)
}
