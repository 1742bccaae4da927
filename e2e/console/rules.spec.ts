import { expect, open, test } from './test.ts'

const daily = { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' } as const

test('the rules of a job are chosen in plain words', async ({ page, base, label, sdk, receiver }) => {
  const { id } = await sdk.jobs.create({
    name: label,
    schedule: daily,
    target: { type: 'http', url: receiver.url(label, 'ok') },
  })
  const choose = async (field: string, choice: RegExp) => {
    await page.getByLabel(field).click()
    await page.getByRole('option', { name: choice }).click()
  }
  await open(page, `${base}/jobs/${id}/edit`)
  await choose('When it is due and still running', /Let the newest wait/)
  await choose('After an outage', /Make up for it/)
  await page.getByLabel('At most so many', { exact: true }).fill('7')
  await page.getByLabel('None older than, hours').fill('1.5')
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
