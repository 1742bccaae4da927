import { expect, open, test } from './test.ts'

const day = 86_400_000
const now = new Date()
const nextMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
const monthWords = nextMonth.toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const iso = (date: number, hours: number) =>
  new Date(nextMonth.getTime() + (date - 1) * day + hours * 3_600_000).toISOString()

test('a day that failed is seen in the month, and leads to its runs', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({
    name: label,
    schedule: { type: 'every', every: 'PT1S', timezone: 'UTC', maxRuns: 5 },
    target: { type: 'http', url: receiver.url(label, 'status/500') },
    retry: { limit: 0 },
    overlap: 'allow',
  })
  const failed = async () => (await sdk.runs.list({ jobId: job.id, status: ['failed'] }).page()).data.length
  await expect.poll(failed, { timeout: 20_000 }).toBe(5)
  await open(page, `${base}/jobs/${job.id}/occurrences`)
  await page.getByRole('link', { name: 'Month', exact: true }).click()
  const today = page.getByRole('cell').filter({ hasText: 'today' })
  // The bar, and what it says to those who do not see colours; what is over is skipped, too, as no run is left.
  await expect(today.locator('.bg-failed').first()).toBeVisible()
  await expect(today.getByRole('link')).toHaveAccessibleName(/\d failed/)
  const list = page.getByRole('region', { name: /\d/ }).last()
  await list
    .getByRole('link', { name: /Failed/ })
    .first()
    .click()
  await expect(page).toHaveURL(/\/runs\/run_/)
  await expect(page.getByText('The target answered 500.')).toBeVisible()
  await sdk.jobs.delete(job.id)
})

test('the days of a month tell how much comes, and one instant of a day is skipped and moved to another', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const job = await sdk.jobs.create({
    name: label,
    schedule: { type: 'cron', cron: '0 8,20 * * *', timezone: 'UTC' },
    target: { type: 'http', url: receiver.url(label, 'ok') },
  })
  await open(page, `${base}/jobs/${job.id}/occurrences?view=month`)
  await page.getByRole('link', { name: 'Later' }).click()
  await expect(page.getByText(monthWords)).toBeVisible()
  const cell = (date: number) => page.getByRole('cell', { name: new RegExp(`^${date}\\b`) })
  await expect(cell(15)).toContainText(/08:00.*20:00/)
  await cell(15).getByRole('link').click()
  await expect(cell(15).getByRole('link')).toHaveAttribute('aria-current', 'true')
  const list = page.getByRole('region', { name: /\b15\b/ })
  const item = (clock: string) => list.getByRole('listitem').filter({ hasText: clock })
  await expect(list.getByRole('listitem').filter({ hasText: 'To come' })).toHaveCount(2)

  // Skipped, it is struck out in its day.
  await item('08:00').getByRole('button', { name: 'Skip' }).click()
  await expect(item('08:00')).toContainText('Skipped by hand')
  await expect(cell(15).getByText('08:00')).toHaveCSS('text-decoration-line', 'line-through')

  // Moved, it stands in the other day, which then has three.
  await item('20:00').getByRole('button', { name: 'Change' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('At another time').check()
  await dialog.getByRole('spinbutton', { name: 'day,' }).click()
  await page.keyboard.type('16')
  await dialog.getByLabel('Time', { exact: true }).fill('09:30')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(cell(16)).toContainText(/08:00.*09:30.*20:00/)
  await expect(cell(15)).not.toContainText('20:00')
  const moved = (await sdk.jobs.occurrences(job.id, { from: iso(15, 0), to: iso(16, 0) }).page()).data.find(
    ({ isMoved }) => isMoved,
  )
  expect(moved).toMatchObject({ nominalAt: iso(15, 20), effectiveAt: iso(16, 9.5) })

  // An address shows the same to a colleague, and the keyboard opens a day.
  await page.reload()
  await expect(cell(15).getByRole('link')).toHaveAttribute('aria-current', 'true')
  await cell(20).getByRole('link').focus()
  await page.keyboard.press('Enter')
  await expect(cell(20).getByRole('link')).toHaveAttribute('aria-current', 'true')
  await page.getByRole('link', { name: 'Today' }).click()
  await expect(page.getByRole('cell').filter({ hasText: 'today' })).toBeVisible()
  await sdk.jobs.delete(job.id)
})
