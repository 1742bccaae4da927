import { enterPassword, expect, open, signIn, test } from './test.ts'

test.use({ role: 'nobody' })

test('a person signs in and sees what failed', async ({ page, status, sdk, receiver, label, base }) => {
  const job = await sdk.jobs.create({
    name: label,
    target: { type: 'http', url: receiver.url(label, 'status/500') },
    retry: { limit: 0 },
  })
  const run = await sdk.runs.get((await sdk.jobs.run(job.id)).id)
  await expect.poll(async () => (await sdk.runs.get(run.id)).status).toBe('failed')

  await signIn(page, status, 'owner')
  await expect(page).toHaveURL(`${status.urls.console}${base}`)
  await expect(page.getByText(/runs of the last 24 hours failed/)).toBeVisible()
  const attention = page.getByRole('region', { name: 'Needs attention' })
  await attention.getByRole('link', { name: new RegExp(label) }).click()
  await expect(page).toHaveURL(new RegExp(`/runs/${run.id}`))
  await expect(page.getByText('The target answered 500.').first()).toBeVisible()
})

test('a person signs in with the keyboard alone', async ({ page, status, base }) => {
  const person = status.people.find(({ role }) => role === 'owner')
  await open(page, '/')
  await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Continue to sign in' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByLabel('E-mail')).toBeFocused()
  await page.keyboard.type(person?.email ?? '')
  await page.keyboard.press('Tab')
  await page.keyboard.type(person?.password ?? '')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(`${status.urls.console}${base}`)
})

test('sign-in leads back to the page that was asked for', async ({ page, status, base }) => {
  await signIn(page, status, 'owner', `${base}/runs?status=failed&last=7d`)
  await expect(page).toHaveURL(`${status.urls.console}${base}/runs?status=failed&last=7d`)
})

for (const returnTo of [
  'https://evil.example',
  '//evil.example',
  '/\\evil.example',
  '/\t/evil.example',
  '/.//evil.example',
]) {
  test(`sign-in stays on our origin for returnTo=${JSON.stringify(returnTo)}`, async ({ page, status }) => {
    await page.goto(`/auth/login?returnTo=${encodeURIComponent(returnTo)}`)
    await enterPassword(page, status, 'owner')
    await page.waitForURL(`${status.urls.console}/**`)
    expect(new URL(page.url()).origin).toBe(new URL(status.urls.console).origin)
  })
}

test('tokens never reach the browser, and every sign-in has an id of its own', async ({
  page,
  context,
  status,
  base,
}) => {
  const bodies: Promise<string>[] = []
  page.on('response', (response) => {
    const { origin, pathname } = new URL(response.url())
    // The stream of news never ends, so its text never comes.
    if (origin === status.urls.console && !pathname.endsWith('/live')) bodies.push(response.text().catch(() => ''))
  })
  const session = async () => (await context.cookies()).find(({ name }) => name === 'meridian_session')
  await context.addCookies([{ name: 'meridian_session', value: 'planted', url: status.urls.console }])
  await signIn(page, status, 'owner')
  const first = await session()
  expect(first).toMatchObject({ httpOnly: true, sameSite: 'Lax' })
  expect(first?.value).toMatch(/^[\w-]{43}$/)
  await page.goto(`${base}/keys`)
  for (const text of [...(await Promise.all(bodies)), JSON.stringify(await context.cookies(status.urls.console))]) {
    expect(text).not.toMatch(/\bms_[\w-]{43}/)
    expect(text).not.toMatch(/\beyJ[\w-]+\.eyJ/)
  }
  await page.goto('/auth/login')
  await page.waitForURL(`${status.urls.console}/**`)
  expect((await session())?.value).not.toBe(first?.value)
})

test('signing out ends the session on the server', async ({ page, context, status, base }) => {
  await signIn(page, status, 'owner')
  const before = await context.cookies(status.urls.console)
  await page.getByRole('button', { name: /account of/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(`${status.urls.console}/login**`)
  await context.addCookies(before)
  await page.goto(`${base}/jobs`)
  await expect(page).toHaveURL(/\/login\?returnTo=/)
})

test('an answer of the identity provider that this browser did not ask for is refused', async ({
  page,
  context,
  status,
}) => {
  await page.goto('/auth/callback?code=stolen&state=unknown&iss=nobody')
  await expect(page.getByText('Not signed in')).toBeVisible()

  await page.goto('/auth/login')
  const attempt = (await context.cookies()).find(({ name }) => name.startsWith('meridian_signin_'))
  expect(attempt).toMatchObject({ httpOnly: true, path: '/auth' })
  const state = new URL(page.url()).searchParams.get('state')
  await page.goto(`${status.urls.console}/auth/callback?code=stolen&state=${state ?? attempt?.name.slice(-12)}`)
  await expect(page.getByText('Not signed in')).toBeVisible()
  expect((await context.cookies()).some(({ name }) => name === 'meridian_session')).toBe(false)
})

test('pages of the app are not for those who are not signed in', async ({ request, base }) => {
  const page = await request.get(`${base}/jobs`, { headers: { accept: 'text/html' }, maxRedirects: 0 })
  expect(page.status()).toBe(303)
  expect(page.headers().location).toBe(`/login?returnTo=${encodeURIComponent(`${base}/jobs`)}`)
  for (const path of ['/search?q=a', '/live', '/runs/page?cursor=x']) {
    expect((await request.get(base + path, { maxRedirects: 0 })).status()).toBe(401)
  }
})

test('every page forbids what it does not need', async ({ request }) => {
  const headers = (await request.get('/login')).headers()
  const policy = headers['content-security-policy'] ?? ''
  expect(policy).toMatch(/script-src 'self' 'nonce-[\w+/=]+'/)
  expect(policy).not.toMatch(/script-src[^;]*unsafe/)
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cache-control': 'private, no-store',
  })
})

test('a form that another site sends is refused', async ({ request, base, status }) => {
  const sent = (origin: string) =>
    request.post(`${base}/jobs?/pause`, { form: { id: 'job_x' }, headers: { origin }, maxRedirects: 0 })
  expect((await sent('https://evil.example')).status()).toBe(403)
  expect((await sent(status.urls.console)).status()).not.toBe(403)
})
