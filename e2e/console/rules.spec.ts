import type { Page } from '@playwright/test'
import { expect, open, test } from './test.ts'

/** What a person does to a job's form. */
const hands = (page: Page) => ({
  unfold: (title: string) => page.locator('summary', { hasText: title }).click(),
  choose: async (field: string, choice: RegExp) => {
    await page.getByLabel(field).click()
    await page.getByRole('option', { name: choice }).click()
  },
})

const daily = { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' } as const

test('the rules of a job are chosen in plain words', async ({ page, base, label, sdk, receiver }) => {
  const { id } = await sdk.jobs.create({
    name: label,
    schedule: daily,
    target: { type: 'http', url: receiver.url(label, 'ok') },
  })
  const { choose, unfold } = hands(page)
  await open(page, `${base}/jobs/${id}/edit`)
  await unfold('Overlap and outages')
  await unfold('When it stops')
  await choose('When it is due and still running', /Let the newest wait/)
  await choose('After an outage', /Make up for it/)
  await page.getByLabel('At most so many', { exact: true }).fill('7')
  await page.getByLabel(/^None older than/).fill('1.5')
  await page.getByLabel('Pause it after failures in a row').fill('3')
  await choose('After its last run', /Archive it/)
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page).toHaveURL(new RegExp(`/jobs/${id}$`))
  expect(await sdk.jobs.get(id)).toMatchObject({
    overlap: 'replace',
    catchUp: 'all',
    catchUpMax: 7,
    catchUpWindow: 'PT1H30M',
    pauseAfterFailures: 3,
    afterLastRun: 'archive',
  })
  await page.getByRole('link', { name: 'Definition' }).click()
  await expect(page.getByText('After 3 failed runs in a row')).toBeVisible()
  await expect(page.getByText('The job is archived')).toBeVisible()
})

test('what counts as a success, retries and deadlines are folded away, told in words, and kept as they are set', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const { id } = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  const { choose, unfold } = hands(page)
  await open(page, `${base}/jobs/${id}/edit`)
  await expect(page.getByText('Up to 5 times, after 100 ms, then twice as long each time, at most 1.6 s')).toBeVisible()
  await unfold('How it is tried again')
  await choose('Pauses between tries', /One by one/)
  await page.getByLabel('The pauses').fill('10 s, soon')
  await expect(page.getByText('“soon” is no pause').first()).toBeVisible()
  await page.getByLabel('The pauses').fill('10 s, 5 min')
  await page.getByLabel(/^No try later than/).fill('6')
  await page.getByRole('button', { name: 'Rule for some failures' }).click()
  await page.getByLabel('When it fails with').fill('404, 410')
  await unfold('What is a success')
  await page.getByRole('button', { name: 'Check', exact: true }).click()
  await page.getByLabel('Where in the JSON').fill('$.state')
  await page.getByLabel('Value', { exact: true }).fill('done')
  await unfold('Deadlines')
  await page.getByLabel(/^Begins within/).fill('15')
  await page.getByLabel('Keep what fails or expires').uncheck()
  await expect(page.getByText('It has to begin within 15 min after it was due, or it expires; not kept')).toBeVisible()
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page).toHaveURL(new RegExp(`/jobs/${id}$`))
  expect(await sdk.jobs.get(id)).toMatchObject({
    target: { expect: { json: [{ path: '$.state', equals: 'done' }] } },
    retry: { limit: 2, delays: ['PT10S', 'PT5M'], maxAge: 'PT6H', rules: [{ on: ['404', '410'], retry: false }] },
    startWithin: 'PT15M',
    deadLetters: 'drop',
  })
  await page.getByRole('link', { name: 'Definition' }).click()
  await expect(page.getByText('2 times, after 10 s and 5 min; none later than 6 h after it was due')).toBeVisible()
  await expect(page.getByText('After 404 or 410: not again')).toBeVisible()
  await expect(page.getByText('$.state is "done"')).toBeVisible()
})

test('a pause ends by itself, and a run by hand may have another rule', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const { id } = await sdk.jobs.create({
    name: label,
    schedule: daily,
    target: { type: 'http', url: receiver.url(label, 'slow/4000') },
  })
  await open(page, `${base}/jobs/${id}`)
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByLabel('Resume by itself').check()
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await expect(page.getByText(/Paused by you .* until tomorrow 09:00/)).toBeVisible()
  const paused = await sdk.jobs.get(id)
  expect(Date.parse(paused.pauseUntil ?? '')).toBeGreaterThan(Date.now())
  const first = await sdk.jobs.run(id)
  await expect.poll(async () => (await sdk.runs.get(first.id)).status).toBe('running')

  await page.getByRole('button', { name: 'More ways to run it' }).click()
  await page.getByRole('menuitem', { name: 'Run it another way' }).click()
  await page.getByLabel('If a run of it is still open').click()
  await page.getByRole('option', { name: /Start it as well/ }).click()
  await page.getByRole('button', { name: 'Run now' }).last().click()
  await expect(page).toHaveURL(/\/runs\//)
  await expect.poll(() => receiver.count(label)).toBe(2)
})

test('a job says why it does not run at its next instant', async ({ page, base, label, sdk, receiver }) => {
  const days = [0, 1, 2].map((ahead) => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10))
  const calendar = await sdk.calendars.create({ name: label, dates: days })
  const { id } = await sdk.jobs.create({
    name: label,
    schedule: { type: 'cron', cron: '25 6 * * *', timezone: 'UTC', notOn: [label] },
    target: { type: 'http', url: receiver.url(label, 'ok') },
  })
  await open(page, `${base}/jobs/${id}`)
  await expect(
    page.getByText(/Its next instant, .* is at a time that its calendars leave out. It runs next/),
  ).toBeVisible()
  await sdk.jobs.delete(id)
  await sdk.calendars.delete(calendar.name)
})
