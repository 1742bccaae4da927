import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, open, test } from './test.ts'
import { fixedZone } from './zone-file.ts'

test('the version in use is told, and before another is applied the jobs that it moves', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const folder = process.env.MERIDIAN_TZDATA
  test.skip(folder === undefined, 'needs the files of a product of its own')
  const job = (name: string, timezone: string) =>
    sdk.jobs.create({
      name: `${label}-${name}`,
      target: { type: 'http', url: receiver.url(label, 'ok') },
      schedule: { type: 'cron', cron: '0 9 * * *', timezone },
    })
  const jobs = await Promise.all([
    job('moving', 'Asia/Kolkata'),
    job('staying', 'UTC'),
    job('without-zone', 'Pacific/Apia'),
  ])
  const { tzVersion } = await sdk.system()
  const next = join(folder ?? '', '2099a')
  try {
    await open(page, `${base}/blackouts`)
    await page.getByRole('link', { name: 'Time zones' }).click()
    await expect(page.getByText(`Version ${tzVersion} of the time zone data`)).toBeVisible()
    await expect(page.getByText('Nothing moves: no other version lies here')).toBeVisible()
    await expect(page.getByRole('row').filter({ hasText: `${tzVersion} · in use` })).toContainText('now')

    // India an hour ahead of what it is.
    for (const [name, seconds] of [
      ['UTC', 0],
      ['Etc/UTC', 0],
      ['Asia/Kolkata', 23_400],
    ] as const) {
      await mkdir(dirname(join(next, name)), { recursive: true })
      await writeFile(join(next, name), fixedZone(seconds))
    }
    await page.reload()
    const table = page.getByRole('table', { name: 'Schedules that 2099a moves' })
    const moving = table.getByRole('row').filter({ hasText: `${label}-moving` })
    await expect(moving).toContainText(/09:00.*08:00.*instants move/)
    await expect(moving.locator('time').first()).toHaveAttribute('datetime', /T03:30:00.000Z$/)
    await expect(moving.locator('time').last()).toHaveAttribute('datetime', /T02:30:00.000Z$/)
    await expect(table.getByRole('row').filter({ hasText: `${label}-without-zone` })).toContainText('Pacific/Apia')
    await expect(table.getByText(`${label}-staying`)).toHaveCount(0)
    await moving.getByRole('link', { name: `${label}-moving` }).click()
    await expect(page.getByRole('heading', { level: 1, name: `${label}-moving` })).toBeVisible()
  } finally {
    await rm(next, { recursive: true, force: true })
    for (const { id } of jobs) await sdk.jobs.delete(id)
  }
})
