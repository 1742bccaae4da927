import { generateKeyPair } from 'jose'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Page, type Problem, startTestApi, type TestApi, target } from './api.ts'
import { clientId, type Issuer, startIssuer } from './issuer.ts'

let api: TestApi
let issuer: Issuer
beforeAll(async () => {
  issuer = await startIssuer()
  api = await startTestApi({ OIDC_ISSUER: issuer.url, OIDC_CLIENT_ID: clientId })
})
beforeEach(() => issuer.setUp(true))
afterAll(async () => {
  await api.close()
  await issuer.close()
})

interface Opened {
  token: string
  user: { id: string; email: string }
}
interface Me {
  memberships: { project: { id: string; slug: string }; role: string }[]
}

const open = (idToken: string) => api.as(null).post<Opened & Problem>('/v1/sessions', { idToken })

let people = 0
/** A tenant with two projects and one person in it, who has signed in. */
async function signIn(role: 'owner' | 'operator' | 'viewer') {
  const subject = `person-${++people}`
  const person = { email: `${subject}@example.com`, name: subject, role, issuer: issuer.url, subject }
  const projects = ['main', 'side'].map((slug) => ({ slug, name: slug, label: 'development' as const }))
  const tenant = await api.tenant({ people: [person], projects })
  const { status, body } = await open(await issuer.token({ sub: subject, email: person.email }))
  expect(status).toBe(201)
  const me = await api.as(body.token).get<Me>('/v1/me')
  const enter = (slug: string) => {
    const project = me.body.memberships.find((membership) => membership.project.slug === slug)?.project
    return api.as(body.token, { 'meridian-project': project?.id ?? '' })
  }
  return { tenant, token: body.token, me: me.body, enter }
}

test('a person signs in, chooses a project, and works in it', async () => {
  const { me, enter, token } = await signIn('owner')
  expect(me.memberships.map(({ project, role }) => [project.slug, role])).toEqual([
    ['main', 'owner'],
    ['side', 'owner'],
  ])
  await enter('main').post('/v1/jobs', { name: 'one', target })
  expect((await enter('main').get<Page<{ name: string }>>('/v1/jobs')).body.data).toHaveLength(1)
  expect((await enter('side').get<Page<{ name: string }>>('/v1/jobs')).body.data).toHaveLength(0)
  const lost = await api.as(token).get<Problem>('/v1/jobs')
  expect([lost.status, lost.body.code]).toEqual([400, 'malformed-request'])
})

test('a role is what its scopes are', async () => {
  const viewer = (await signIn('viewer')).enter('main')
  expect((await viewer.get('/v1/jobs')).status).toBe(200)
  expect((await viewer.post('/v1/jobs', { name: 'one', target })).status).toBe(403)
  const operator = (await signIn('operator')).enter('main')
  expect((await operator.post('/v1/jobs', { name: 'one', target })).status).toBe(201)
  expect((await operator.post('/v1/keys', { name: 'x', scopes: ['jobs:read'] })).status).toBe(403)
  const owner = (await signIn('owner')).enter('main')
  expect((await owner.post('/v1/projects', { slug: 'new', name: 'New' })).status).toBe(201)
})

test("another tenant's project is not there", async () => {
  const a = await signIn('owner')
  const b = await signIn('owner')
  const foreign = api.as(a.token, { 'meridian-project': b.me.memberships[0]?.project.id ?? '' })
  expect((await foreign.get('/v1/jobs')).status).toBe(404)
  expect((await api.as(a.token, { 'meridian-project': 'nonsense' }).get('/v1/jobs')).status).toBe(404)
})

test('signing out ends the session here at once, and a key is no session', async () => {
  const { token, enter, tenant } = await signIn('owner')
  expect((await enter('main').get('/v1/jobs')).status).toBe(200)
  expect((await api.as(token).send('DELETE', '/v1/sessions/current')).status).toBe(204)
  expect((await enter('main').get('/v1/jobs')).status).toBe(401)
  expect((await tenant.client.send('DELETE', '/v1/sessions/current')).status).toBe(403)
})

test('only the hash of a session token is kept', async () => {
  const { token } = await signIn('owner')
  const { rows } = await api.db.owner.query('select * from sessions')
  expect(JSON.stringify(rows)).not.toContain(token)
})

test('nobody signs in with a token that is not for us, not of the provider, or not of now', async () => {
  const now = Math.floor(Date.now() / 1_000)
  const stranger = await generateKeyPair('RS256')
  const symmetric = new TextEncoder().encode('a-secret-of-thirty-two-characters')
  const honest = await issuer.token()
  const [head = '', payload = ''] = honest.split('.')
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`
  const bad: Record<string, string> = {
    'another issuer': await issuer.token({ iss: 'https://evil.example' }),
    'another audience': await issuer.token({ aud: 'somebody-else' }),
    'several audiences, not authorised': await issuer.token({ aud: [clientId, 'other'], azp: 'other' }),
    expired: await issuer.token({ iat: now - 900, exp: now - 300 }),
    'issued long ago': await issuer.token({ iat: now - 3_600 }),
    'not valid yet': await issuer.token({ nbf: now + 600 }),
    'signed by a stranger': await issuer.token({}, { key: stranger.privateKey }),
    'with an unknown key': await issuer.token({}, { key: stranger.privateKey, keyId: 'unknown' }),
    symmetric: await issuer.token({}, { algorithm: 'HS256', key: symmetric }),
    'algorithm none': none,
    changed: `${head}.${Buffer.from(JSON.stringify({ sub: 'root' })).toString('base64url')}.${honest.split('.')[2]}`,
    'no token': 'x.y.z',
  }
  for (const [what, idToken] of Object.entries(bad)) {
    const { status, body } = await open(idToken)
    expect([what, status, body.code]).toEqual([what, 401, 'unauthenticated'])
  }
})

test('whom nobody invited is told so', async () => {
  const { status, body } = await open(await issuer.token({ sub: 'nobody', email: 'nobody@example.com' }))
  expect([status, body.code]).toEqual([403, 'forbidden'])
})

test('a rotated signing key works without a restart', async () => {
  await signIn('viewer')
  await issuer.rotate()
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  expect((await signIn('viewer')).token).toMatch(/^ms_/)
})

test('a provider that is away is told as such, and works again when it is back', async () => {
  const fresh = await startTestApi({ OIDC_ISSUER: issuer.url, OIDC_CLIENT_ID: clientId })
  issuer.setUp(false)
  const answer = await fresh.as(null).post<Problem>('/v1/sessions', { idToken: await issuer.token() })
  expect([answer.status, answer.body.code]).toEqual([503, 'dependency-unavailable'])
  issuer.setUp(true)
  expect((await fresh.as(null).post('/v1/sessions', { idToken: await issuer.token({ sub: 'nobody' }) })).status).toBe(
    403,
  )
  await fresh.close()
})
