import { expect, open, test } from './test.ts'

test('the runs of a host are held by hand, say why, and go when its breaker is closed', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  // The receiver, and with it the host, is this worker's own: no other test calls it meanwhile.
  const url = new URL(receiver.url(label, 'ok'))
  await open(page, `${base}/breakers`)
  await page.getByRole('button', { name: 'Hold a host' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Host').fill(url.host)
  await dialog.getByLabel('Reason').fill('They move.')
  await dialog.getByRole('button', { name: 'Hold' }).click()
  const row = page.locator(`[data-breaker="${url.host}"]`)
  await expect(row.getByText('Held by you: They move.')).toBeVisible()

  const run = await sdk.runs.create({ target: { type: 'http', url: url.href } })
  const held = async () => (await sdk.breakers.list().page()).data.find(({ host }) => host === url.host)?.held
  await expect.poll(held, { timeout: 15_000 }).toBe(1)
  await open(page, `${base}/runs/${run.id}`)
  await expect(page.getByText(`The breaker of ${url.host} was opened by hand`)).toBeVisible()

  await open(page, `${base}/breakers`)
  await row.getByRole('button', { name: 'Let go' }).click()
  await expect(row.getByRole('button', { name: 'Let go' })).toHaveCount(0)
  expect((await sdk.runs.ended(run.id)).attempt).toBe(1)
})
