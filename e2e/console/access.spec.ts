import { expect, open, test } from './test.ts'

test.use({ role: 'viewer' })

test('a viewer is told which permission a button needs', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  await open(page, `${base}/jobs/${job.id}`)
  for (const [name, scope] of [
    ['Pause', 'jobs:write'],
    ['Edit', 'jobs:write'],
    ['Run now', 'runs:write'],
  ] as const) {
    const button = page.getByRole('button', { name })
    await expect(button).toHaveAttribute('aria-disabled', 'true')
    await expect(button).toHaveAccessibleDescription(`Needs the permission ${scope}; your role here is viewer`)
    await button.hover()
    await expect(page.getByText(`Needs the permission ${scope}`).last()).toBeVisible()
    await button.press('Enter')
  }
  expect((await sdk.runs.list({ jobId: job.id }).page()).data).toEqual([])
})

test('a viewer who sends the form anyway is refused by the API', async ({
  page,
  base,
  label,
  sdk,
  receiver,
  status,
}) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  const answer = await page.request.post(`${base}/jobs/${job.id}?/pause`, {
    form: { reason: '' },
    headers: { origin: status.urls.console, 'x-sveltekit-action': 'true', accept: 'application/json' },
  })
  expect(answer.status()).toBe(403)
  expect((await sdk.jobs.get(job.id)).state).toBe('active')
})

test('a viewer sees that a run happened, not what it carried', async ({ page, base, label, sdk, receiver }) => {
  const target = { type: 'http', url: receiver.url(label, 'ok'), body: 'a secret' } as const
  const run = await sdk.runs.create({ target })
  await expect.poll(async () => (await sdk.runs.get(run.id)).status).toBe('succeeded')
  await open(page, `${base}/runs/${run.id}`)
  await expect(page.getByText('payloads:read').first()).toBeVisible()
  expect(await page.content()).not.toContain('a secret')
})

test('another project is not there', async ({ page, guard, status }) => {
  guard.expectError(/404/)
  await page.goto(`/${status.tenant}/nowhere`)
  await expect(page.getByText('There is no such project')).toBeVisible()
})
