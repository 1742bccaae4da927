import { expect, open, test } from './test.ts'

test('what failed is grouped by its error, and all of it is redriven after a look at how many', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const target = { type: 'http', url: receiver.url(label, 'status/500') } as const
  const job = await sdk.jobs.create({ name: label, target, retry: { limit: 0 } })
  const runs = await Promise.all([sdk.jobs.run(job.id), sdk.jobs.run(job.id)])
  await Promise.all(runs.map(({ id }) => sdk.runs.ended(id)))
  await expect.poll(async () => (await sdk.deadLetters.list({ jobId: job.id }).page()).data.length).toBe(2)

  await open(page, `${base}/dead-letters`)
  const row = page.getByRole('row', { name: label })
  await expect(row.getByText('The target answered 500.')).toBeVisible()
  await row.getByRole('link', { name: label }).click()
  await expect(page.locator('[data-letter]')).toHaveCount(2)
  await page.locator(`[data-letter="${runs[0]?.id}"]`).getByRole('button', { name: 'Discard' }).click()
  await expect(page.locator('[data-letter]')).toHaveCount(1)
  await page.getByRole('button', { name: 'Redrive all' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByText('1 dead letter', { exact: true })).toBeVisible()
  await dialog.getByRole('button', { name: 'Redrive 1 dead letter' }).click()
  await expect(page.getByRole('heading', { name: 'Redrive 1 dead letter' })).toBeVisible()
  await expect(page.getByText(/^Done · started/)).toBeVisible()
  await expect.poll(() => receiver.count(label)).toBe(3)
  expect(await sdk.deadLetters.get(runs[1]?.id ?? '')).toMatchObject({ state: 'redriven' })
})

test.describe('somebody who only looks', () => {
  test.use({ role: 'viewer' })

  test('sees what failed, and is told what they lack', async ({ page, base, label, sdk, receiver }) => {
    const target = { type: 'http', url: receiver.url(label, 'status/500') } as const
    const job = await sdk.jobs.create({ name: label, target, retry: { limit: 0 } })
    await sdk.runs.ended((await sdk.jobs.run(job.id)).id)
    await expect.poll(async () => (await sdk.deadLetters.list({ jobId: job.id }).page()).data.length).toBe(1)
    await open(page, `${base}/dead-letters`)
    await expect(page.getByRole('row', { name: label })).toBeVisible()
    await expect(page.getByRole('button', { name: 'Redrive all' })).toHaveAttribute('aria-disabled', 'true')
  })
})
