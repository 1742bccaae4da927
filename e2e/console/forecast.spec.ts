import { expect, open, test } from './test.ts'

test('what comes is drawn by queue and host, and jobs that start together are spread and brought back', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  // Far enough away that nothing of it starts meanwhile, and at a second of its own: others start at full minutes.
  const at = new Date(Date.now() + 150 * 60_000)
  const second = 1 + Math.floor(Math.random() * 58)
  const schedule = {
    type: 'cron',
    cron: `${second} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`,
    timezone: 'UTC',
  } as const
  const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => `${label}-${letter}`)
  const jobs = await Promise.all(
    names.map((name) =>
      sdk.jobs.create({ name, target: { type: 'http', url: receiver.url(label, 'ok') }, schedule, queue: label }),
    ),
  )
  await open(page, `${base}/forecast`)
  await expect(page.getByRole('link', { name: 'Next 24 hours' })).toHaveAttribute('aria-current', 'true')
  const row = page.getByRole('row').filter({ hasText: label })
  await expect(row).toContainText(/6.*6 · (today|tomorrow)/)
  await row.getByRole('link', { name: label }).click()
  await expect(page.getByText('most 6, ')).toBeVisible()
  await expect(page).toHaveURL(new RegExp(`name=${label}`))
  const chart = page.getByRole('slider', { name: 'What comes, over time' })
  await chart.press('Home')
  await chart.press('ArrowRight')
  await expect(chart).toHaveAttribute('aria-valuetext', /0 starts a minute, 0 going on at once/)
  await page.getByRole('link', { name: 'Hosts' }).click()
  await expect(page.getByRole('link', { name: new URL(receiver.url(label, 'ok')).host })).toBeVisible()

  const meeting = page
    .getByRole('listitem')
    .filter({ hasText: names[0] ?? '' })
    .filter({ hasText: 'jobs at once' })
  await expect(meeting).toContainText('6 jobs at once')
  await meeting.getByRole('button', { name: 'Spread' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByText('6 jobs', { exact: true })).toBeVisible()
  await dialog.getByRole('combobox', { name: 'Over' }).click()
  await page.getByRole('option', { name: /^30 min/ }).click()
  await dialog.getByRole('button', { name: 'Spread 6 jobs' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Edit 6 jobs' })).toBeVisible()
  const windows = async () =>
    (await Promise.all(jobs.map(({ id }) => sdk.jobs.get(id)))).map((job) => job.schedule?.window ?? 'none')
  await expect.poll(windows).toEqual(names.map(() => 'PT30M'))
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(windows).toEqual(names.map(() => 'none'))
  for (const { id } of jobs) await sdk.jobs.delete(id)
})
