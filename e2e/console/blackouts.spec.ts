import type { Locator } from '@playwright/test'
import { expect, open, test } from './test.ts'

/** The day that many days from now, where the reader is. */
function dayIn(days: number): Date {
  const [day = ''] = new Date(Date.now() + days * 86_400_000)
    .toLocaleString('sv', { timeZone: 'Europe/Berlin' })
    .split(' ')
  return new Date(`${day}T00:00Z`)
}

/** Types a date into a field of three parts, day first. */
async function enterDate(field: Locator, date: Date): Promise<void> {
  await field.getByRole('spinbutton', { name: 'day,' }).click()
  await field.page().keyboard.type(date.toISOString().slice(0, 10).split('-').reverse().join(''))
}

test('a blackout says what it decides about before it is set, is changed, lifted and brought back', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  // Far enough away that no other test looks there, and not where an attempt before this one may have left something.
  const away = 40 + Math.floor(Math.random() * 30)
  const [before, day, next] = [dayIn(away - 1), dayIn(away), dayIn(away + 1)]
  const job = await sdk.jobs.create({
    name: label,
    target: { type: 'http', url: receiver.url(label, 'ok') },
    schedule: {
      type: 'cron',
      cron: `* 23 ${day.getUTCDate()} ${day.getUTCMonth() + 1} *`,
      timezone: 'Europe/Berlin',
    },
  })
  await open(page, `${base}/calendars`)
  await page.getByRole('link', { name: 'Blackouts' }).click()
  await page.getByRole('button', { name: 'New blackout' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByRole('button', { name: 'Set the blackout' })).toHaveAttribute('aria-disabled', 'true')
  await dialog.getByLabel('What it is for').fill(label)
  await enterDate(dialog.getByRole('group', { name: 'From' }), day)
  await enterDate(dialog.getByRole('group', { name: 'Until' }), before)
  await expect(dialog.getByText('It ends before it starts.')).toBeVisible()
  await enterDate(dialog.getByRole('group', { name: 'Until' }), next)
  await expect(dialog.getByText(/starts of .* are skipped/)).toBeVisible()
  await dialog.getByLabel('Waits for its end').check()
  await expect(dialog.getByText(/starts of .* wait for its end/)).toBeVisible()
  await expect(dialog.getByRole('listitem').filter({ hasText: label })).toHaveText(/60$/)
  await dialog.getByRole('button', { name: 'Set the blackout' }).click()

  const row = page.getByRole('row').filter({ hasText: label })
  await expect(row.getByText(/wait for its end/)).toBeVisible()
  await row.getByRole('button', { name: `Change ${label}` }).click()
  await dialog.getByRole('textbox', { name: 'From, time of day' }).fill('23:30')
  await expect(dialog.getByRole('listitem').filter({ hasText: label })).toHaveText(/30$/)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(dialog).toBeHidden()
  const mine = async () => (await sdk.blackouts.list({ open: 'true' }).page()).data.filter(({ name }) => name === label)
  expect(await mine()).toMatchObject([{ roll: 'next' }])

  await row.getByRole('button', { name: `Lift ${label}` }).click()
  await expect(row).toBeHidden()
  expect(await mine()).toEqual([])
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(row).toBeVisible()
  for (const { id } of await mine()) await sdk.blackouts.delete(id)
  await sdk.jobs.delete(job.id)
})
