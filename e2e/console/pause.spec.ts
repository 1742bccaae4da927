import { expect, open, test } from './test.ts'

const daily = { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' } as const

test('a person pauses a job with a reason, and takes it back', async ({ page, base, label, sdk, receiver }) => {
  const target = { type: 'http', url: receiver.url(label, 'ok') } as const
  const job = await sdk.jobs.create({ name: label, target, schedule: daily })
  await open(page, `${base}/jobs/${job.id}`)
  await page.getByRole('button', { name: 'Pause' }).click()
  await expect(page.getByLabel('Why')).toBeFocused()
  await page.keyboard.type('The target is being moved')
  await page.keyboard.press('Enter')
  await expect(page.getByText(/Paused by you/)).toBeVisible()
  await expect(page.getByText('The target is being moved')).toBeVisible()
  expect(await sdk.jobs.get(job.id)).toMatchObject({
    state: 'paused',
    pauseReason: 'The target is being moved',
    nextAt: null,
  })

  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByText(/Active · next in/)).toBeVisible()
  expect((await sdk.jobs.get(job.id)).state).toBe('active')
})

test('a person pauses a job with the keyboard alone', async ({ page, base, label, sdk, receiver }) => {
  const target = { type: 'http', url: receiver.url(label, 'ok') } as const
  const job = await sdk.jobs.create({ name: label, target, schedule: daily })
  await open(page, `${base}/jobs?q=${label}`)
  await page.keyboard.press('j')
  await expect(page.getByRole('link', { name: label })).toBeFocused()
  await page.keyboard.press('Enter')
  const pause = page.getByRole('button', { name: 'Pause' })
  await pause.waitFor()
  for (let presses = 0; presses < 40; presses += 1) {
    if (await pause.evaluate((element) => element === document.activeElement)) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await expect(page.getByLabel('Why')).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByText(/Paused by you/)).toBeVisible()
  expect((await sdk.jobs.get(job.id)).state).toBe('paused')
})

test('several jobs are paused at once, and resumed by undo', async ({ page, base, label, sdk, receiver }) => {
  const target = { type: 'http', url: receiver.url(label, 'ok') } as const
  const ids: string[] = []
  for (const part of ['one', 'two'])
    ids.push((await sdk.jobs.create({ name: `${label}-${part}`, target, schedule: daily })).id)
  const states = () => Promise.all(ids.map(async (id) => (await sdk.jobs.get(id)).state))
  await open(page, `${base}/jobs?q=${label}`)
  await page.getByLabel('Select all jobs').check()
  await page
    .getByRole('toolbar', { name: /chosen jobs/ })
    .getByRole('button', { name: 'Pause' })
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await expect(page.getByText('Paused 2 jobs')).toBeVisible()
  expect(await states()).toEqual(['paused', 'paused'])
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(states).toEqual(['active', 'active'])
})

test('a person archives a job, finds it among the archived ones, and brings it back', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const target = { type: 'http', url: receiver.url(label, 'ok') } as const
  const { id } = await sdk.jobs.create({ name: label, target, schedule: daily })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await open(page, `${base}/jobs/${id}/settings`)
  await button('Archive the job').click()
  await expect(page.getByText(/Archived .*: it starts nothing/)).toBeVisible()
  await expect(page.getByText(`Archived ${label}`)).toBeVisible()
  await expect(button('Resume')).toHaveCount(0)
  await expect(button('Pause')).toHaveCount(0)
  await expect(button('Run now')).toHaveAttribute('aria-disabled', 'true')
  await expect(button('Edit')).toHaveAttribute('aria-disabled', 'true')
  await page.getByRole('link', { name: 'Occurrences' }).click()
  await expect(page.getByText('Will not start: the job is archived').first()).toBeVisible()

  await open(page, `${base}/jobs?q=${label}`)
  await expect(page.getByText('No job matches')).toBeVisible()
  await page.getByRole('link', { name: 'Archived' }).click()
  await page.getByLabel(`Select ${label}`).check()
  await button('Bring back').click()
  await expect(page.getByText('Brought back 1 job')).toBeVisible()
  await expect(page.getByText('No job matches')).toBeVisible()
  expect(await sdk.jobs.get(id)).toMatchObject({ state: 'active', archivedAt: null })
  await sdk.jobs.delete(id)
})
