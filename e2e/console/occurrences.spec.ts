import { expect, open, test } from './test.ts'

const day = 86_400_000
const schedule = { type: 'cron', cron: '0 12 * * *', timezone: 'UTC' } as const
/** Noon in three days, as the list names it: `Wed 2 Dec 12:00`. */
const noon = new Date(Math.floor(Date.now() / day) * day + 3.5 * day)
const named = noon
  .toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })
  .replace(',', '')

test('one occurrence is skipped, moved and annotated, and each can be taken back', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const { id } = await sdk.jobs.create({
    name: label,
    schedule,
    target: { type: 'http', url: receiver.url(label, 'ok') },
  })
  const only = async () => {
    const [row] = (await sdk.jobs.occurrences(id).page()).data.filter((each) => each.nominalAt === noon.toISOString())
    return row && { outcome: row.outcome, isMoved: row.isMoved, note: row.note }
  }
  await open(page, `${base}/jobs/${id}/occurrences`)
  const row = page.getByRole('listitem').filter({ hasText: named })
  await row.getByRole('button', { name: 'Skip' }).click()
  await expect(row.getByText('Skipped by hand')).toBeVisible()
  expect(await only()).toMatchObject({ outcome: 'skipped' })
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(row.getByText('To come')).toBeVisible()

  // The mark on the timeline opens the same as the row.
  const mark = page.getByRole('toolbar', { name: 'Instants over time' }).getByRole('button', { name: named })
  await mark.click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('At another time').check()
  await dialog.getByLabel('Time', { exact: true }).fill('15:30')
  await dialog.getByLabel('Note').fill('The bank opens late')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(row.getByText('15:30')).toBeVisible()
  await expect(row.getByText('“The bank opens late”')).toBeVisible()
  expect(await only()).toEqual({ outcome: 'pending', isMoved: true, note: 'The bank opens late' })
})

test('what was and what comes is drawn by weeks, days and months, and the address says which', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const { id } = await sdk.jobs.create({
    name: label,
    schedule,
    target: { type: 'http', url: receiver.url(label, 'ok') },
  })
  await open(page, `${base}/jobs/${id}/occurrences`)
  await page.getByRole('link', { name: 'Month', exact: true }).click()
  await expect(page).toHaveURL(/view=month/)
  await page.getByRole('link', { name: 'Later' }).click()
  const month = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1, 1))
  await expect(
    page.getByText(month.toLocaleDateString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })),
  ).toBeVisible()
  await page.getByRole('cell', { name: '12:00' }).nth(14).getByRole('link').click()
  await expect(page).toHaveURL(/at=/)
  await expect(page.getByRole('listitem').getByText('12:00')).toBeVisible()
  await page.getByRole('link', { name: 'Timeline' }).click()
  await page.getByRole('link', { name: 'Day', exact: true }).click()
  await expect(page).toHaveURL(/days=1/)
  await page.getByRole('link', { name: 'Today' }).click()
  await expect(page).not.toHaveURL(/from=/)
})

test.describe('somebody who only looks', () => {
  test.use({ role: 'viewer' })

  test('sees the ledger, and is told why it is not theirs to change', async ({ page, base, label, sdk, receiver }) => {
    const { id } = await sdk.jobs.create({
      name: label,
      schedule,
      target: { type: 'http', url: receiver.url(label, 'ok') },
    })
    await open(page, `${base}/jobs/${id}/occurrences`)
    const skip = page.getByRole('listitem').filter({ hasText: named }).getByRole('button', { name: 'Skip' })
    await expect(skip).toHaveAccessibleDescription(/jobs:write/)
  })
})
