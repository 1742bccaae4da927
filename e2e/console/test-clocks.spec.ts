import { expect, open, test } from './test.ts'

test('a project is made for tests, and its clock is set and sent forward', async ({ page, base, label, receiver }) => {
  const home = base.split('/')[1]
  await open(page, `${base}/test-clocks`)
  await page.getByLabel('Name', { exact: true }).fill(label)
  await page.getByLabel('Name in addresses').fill(label)
  await page.getByRole('button', { name: 'Make the project' }).click()
  await expect(page).toHaveURL(new RegExp(`/${home}/${label}/test-clocks$`))
  await page.getByLabel('Time', { exact: true }).fill('06:00')
  await page.getByRole('button', { name: 'Set the clock' }).click()
  await expect(page.getByText('It stands still.')).toBeVisible()

  await open(page, `/${home}/${label}/jobs/new`)
  await page.getByLabel('Name', { exact: true }).fill('Daily invoices')
  await page.getByLabel('URL', { exact: true }).fill(receiver.url(label, 'ok'))
  await page.getByRole('button', { name: 'Create the job' }).click()
  await expect(page.getByRole('heading', { name: 'Daily invoices' })).toBeVisible()
  await open(page, `/${home}/${label}/test-clocks`)
  await expect(page.getByRole('link', { name: /Daily invoices/ }).first()).toBeVisible()
  await page.getByRole('button', { name: 'A week' }).click()
  await expect.poll(() => receiver.count(label), { timeout: 20_000 }).toBe(7)
  await expect(page.getByText('It stands still.')).toBeVisible()
  await expect(
    page.getByRole('region', { name: 'What ran' }).getByRole('link', { name: /Succeeded\s+Daily invoices/ }),
  ).toHaveCount(7)
})
