import { Meridian } from '@meridian/sdk'
import { expect, open, test } from './test.ts'

test('a person makes an API key, uses it, and revokes it', async ({ page, base, label, status, receiver }) => {
  await open(page, `${base}/keys`)
  await page.getByRole('button', { name: 'Create a key' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(label)
  await page.getByRole('dialog').getByRole('button', { name: 'Create the key' }).click()
  const shown = page.getByRole('region', { name: 'the key', exact: true })
  await expect(shown).toContainText('mk_')
  const apiKey = ((await shown.textContent()) ?? '').trim()
  const curl = await page.getByRole('region', { name: 'a request with the key' }).textContent()
  expect(curl).toContain(apiKey)

  const program = new Meridian({ baseUrl: status.urls.api, apiKey, retries: 0 })
  const run = await program.runs.create({ target: { type: 'http', url: receiver.url(label, 'ok') } })
  await expect.poll(async () => (await program.runs.get(run.id)).status).toBe('succeeded')
  await expect(program.keys.list().page()).rejects.toMatchObject({ code: 'forbidden' })

  await page.getByRole('button', { name: 'I have copied it' }).click()
  await expect(page.getByText(apiKey)).toHaveCount(0)
  await page.reload()
  await expect(page.getByText(apiKey)).toHaveCount(0)
  await page.locator('html[data-ready]').waitFor()

  await page.getByRole('button', { name: `Revoke ${label}` }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill(label)
  await dialog.getByRole('button', { name: 'Revoke the key' }).click()
  await expect(page.getByText(`Revoked ${label}`)).toBeVisible()
  await expect
    .poll(
      () =>
        program.runs
          .list()
          .page()
          .then(
            () => 'allowed',
            (error: { code: string }) => error.code,
          ),
      { timeout: 5_000 },
    )
    .toBe('unauthenticated')
})

test('a person makes a key with the keyboard alone', async ({ page, base, label }) => {
  await open(page, base)
  await page.keyboard.press('g')
  await page.keyboard.press('k')
  const create = page.getByRole('button', { name: 'Create a key' })
  await create.waitFor()
  for (let presses = 0; presses < 40; presses += 1) {
    if (await create.evaluate((element) => element === document.activeElement)) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await expect(page.getByRole('textbox', { name: 'Name' })).toBeFocused()
  await page.keyboard.type(label)
  await page.keyboard.press('Enter')
  await expect(page.getByRole('region', { name: 'the key', exact: true })).toContainText('mk_')
})
