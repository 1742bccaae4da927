import { expect, open, test } from './test.ts'

const daily = { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' } as const

test('all jobs that match are paused after a look at how many, and the pause is undone', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const target = { type: 'http', url: receiver.url(label, 'ok') } as const
  const ids: string[] = []
  for (const part of ['one', 'two', 'three'])
    ids.push((await sdk.jobs.create({ name: `${label}-${part}`, target, schedule: daily })).id)
  const states = () => Promise.all(ids.map(async (id) => (await sdk.jobs.get(id)).state))
  await open(page, `${base}/jobs?q=${label}`)
  await page.getByRole('button', { name: 'All that match' }).click()
  await page.getByRole('menuitem', { name: 'Pause all that match' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByText('3 jobs', { exact: true })).toBeVisible()
  await expect(dialog.getByText(`${label}-two`)).toBeVisible()
  expect(await states()).toEqual(['active', 'active', 'active'])
  await dialog.getByLabel('Why').fill('The target is being moved')
  await dialog.getByRole('button', { name: 'Pause 3 jobs' }).click()

  await expect(page.getByRole('heading', { name: 'Pause 3 jobs' })).toBeVisible()
  await expect(page.getByText(/^Done · started/)).toBeVisible()
  expect(await states()).toEqual(['paused', 'paused', 'paused'])
  expect((await sdk.jobs.get(ids[0] ?? '')).pauseReason).toBe('The target is being moved')
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByRole('heading', { name: 'Take back: pause 3 jobs' })).toBeVisible()
  await expect.poll(states).toEqual(['active', 'active', 'active'])
})

test('chosen jobs are edited together', async ({ page, base, label, sdk, receiver }) => {
  const target = { type: 'http', url: receiver.url(label, 'ok') } as const
  const jobs = [
    await sdk.jobs.create({ name: `${label}-one`, target, tags: ['old'] }),
    await sdk.jobs.create({ name: `${label}-two`, target }),
  ]
  await open(page, `${base}/jobs?q=${label}`)
  await page.getByLabel('Select all jobs').check()
  await page
    .getByRole('toolbar', { name: /chosen jobs/ })
    .getByRole('button', { name: 'Edit' })
    .click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByText('2 jobs', { exact: true })).toBeVisible()
  await dialog.getByLabel('Add tags').fill('new')
  await dialog.getByLabel('Remove tags').fill('old')
  await dialog.getByRole('button', { name: 'Edit 2 jobs' }).click()
  await expect(page.getByText(/^Done · started/)).toBeVisible()
  for (const { id } of jobs) expect(await sdk.jobs.get(id)).toMatchObject({ version: 2, tags: ['new'] })
  // Each of them is a link.
  await page.getByRole('link', { name: `${label}-two` }).click()
  await expect(page.getByRole('heading', { name: `${label}-two` })).toBeVisible()
})

test('a past range is backfilled from the page of the job', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({
    name: label,
    target: { type: 'http', url: receiver.url(label, 'ok') },
    schedule: daily,
  })
  await open(page, `${base}/jobs/${job.id}`)
  await page.getByRole('button', { name: 'More ways to run it' }).click()
  await page.getByRole('menuitem', { name: 'Backfill a past range' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByText('7 runs', { exact: true })).toBeVisible()
  await dialog.getByRole('button', { name: 'Backfill 7 runs' }).click()
  await expect(page.getByRole('heading', { name: 'Backfill 7 runs' })).toBeVisible()
  await expect(page.getByText(/^Done · started/)).toBeVisible({ timeout: 30_000 })
  const runs = await sdk.runs.list({ jobId: job.id, source: 'backfill', limit: 20 }).page()
  expect(runs.data).toHaveLength(7)
  await expect.poll(() => receiver.count(label)).toBe(7)
  // What has run is not offered again.
  await open(page, `${base}/jobs/${job.id}`)
  await page.getByRole('button', { name: 'More ways to run it' }).click()
  await page.getByRole('menuitem', { name: 'Backfill a past range' }).click()
  await expect(dialog.getByText('There is nothing to do.')).toBeVisible()
})

test('an operation that takes its time is aborted in the list', async ({ page, base, label, sdk, receiver }) => {
  const target = { type: 'http', url: receiver.url(label, 'ok') } as const
  for (let index = 0; index < 4; index++) await sdk.jobs.create({ name: `${label}-${index}`, target, schedule: daily })
  const operation = await sdk.operations.create({ kind: 'jobs.pause', filter: { search: label }, rate: 0.01 })
  await open(page, `${base}/operations?state=running`)
  const row = page.getByRole('row', { name: /Pause 4 jobs/ }).first()
  await row.getByRole('button', { name: 'Abort' }).click()
  await expect.poll(async () => (await sdk.operations.get(operation.id)).state).toBe('aborted')
  await expect(page.getByRole('link', { name: 'Pause 4 jobs' })).toHaveCount(0)
})

test.describe('somebody who only looks', () => {
  test.use({ role: 'viewer' })

  test('is told what they lack', async ({ page, base }) => {
    await open(page, `${base}/jobs`)
    await page.getByRole('button', { name: 'All jobs' }).click()
    await expect(page.getByRole('menuitem', { name: 'Pause all of them' })).toHaveAttribute('data-disabled', '')
  })
})
