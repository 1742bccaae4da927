import { execFile } from 'node:child_process'
import { copyFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from '@playwright/test'
import { expect, open, test } from './test.ts'

async function download(page: Page, press: () => Promise<void>): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), press()])
  return file.path()
}

test('a certificate is read, downloaded, and checked by what the page hands out', async ({
  page,
  base,
  label,
  sdk,
  status,
  receiver,
}) => {
  const schedule = { type: 'every', every: 'PT1S' } as const
  const target = { type: 'http', url: receiver.url(label, 'ok') } as const
  const { id } = await sdk.jobs.create({ name: label, schedule, overlap: 'allow', target })
  await expect.poll(() => receiver.count(label)).toBeGreaterThan(1)
  await sdk.jobs.pause(id)
  // What is younger than five seconds is still being decided.
  await expect
    .poll(async () => (await sdk.jobs.certificate(id)).certificate.outcomes.run, { timeout: 20_000 })
    .toBeGreaterThan(1)
  await open(page, `${base}/jobs/${id}/certificate`)
  await expect(page.getByRole('heading', { name: 'Every instant is accounted for' })).toBeVisible()

  const certificate = await download(page, () => page.getByRole('button', { name: 'Certificate' }).click())
  const ledger = await download(page, () => page.getByRole('link', { name: 'ledger of this time' }).click())
  const script = await download(page, () => page.getByRole('link', { name: 'verify-certificate.mjs' }).click())
  const keys = `${status.urls.api}/.well-known/jwks.json`
  // Downloads have no name, and Node wants one to know a module by.
  const verifier = join(import.meta.dirname, '../test-results', `${label}.mjs`)
  await mkdir(dirname(verifier), { recursive: true })
  await copyFile(script, verifier)
  const { stdout } = await promisify(execFile)(process.execPath, [verifier, certificate, keys, ledger])
  expect(stdout).toContain('VERIFIED: every instant is accounted for')
})

test('a range is chosen, stands in the address, and says what is wrong with it', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  const schedule = { type: 'cron', cron: '0 12 * * *', timezone: 'UTC' } as const
  const { id } = await sdk.jobs.create({
    name: label,
    schedule,
    target: { type: 'http', url: receiver.url(label, 'ok') },
  })
  await open(page, `${base}/jobs/${id}/certificate`)
  await page.getByRole('link', { name: '7 days' }).click()
  await expect(page).toHaveURL(/last=7/)
  await expect(page.getByRole('link', { name: '7 days' })).toHaveAttribute('aria-current', 'true')
  await open(page, `${base}/jobs/${id}/certificate?from=2020-01-01&to=2026-01-01`)
  await expect(page.getByText(/at most 366 days/)).toBeVisible()
})
