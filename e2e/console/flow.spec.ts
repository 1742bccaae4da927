import { expect, open, test } from './test.ts'

test('a person sees who holds the slots of a queue and who waits, gives it more, and pauses it', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  await sdk.queues.create({ name: label, concurrency: 1 })
  const start = () =>
    sdk.runs.create({
      target: { type: 'http', url: receiver.url(label, 'slow/55000'), timeout: 'PT90S' },
      queue: label,
    })
  const first = await start()
  await expect.poll(async () => (await sdk.runs.get(first.id)).status).toBe('running')
  const second = await start()
  const button = (name: string) => page.getByRole('button', { name, exact: true })

  await open(page, `${base}/queues`)
  const row = page.getByRole('row').filter({ hasText: label })
  await expect(row.getByRole('meter')).toHaveAttribute('aria-valuetext', '1 of 1')
  await expect(row.getByRole('link', { name: '1', exact: true })).toHaveAttribute('href', /status=ready/)
  await row.getByRole('link', { name: label }).click()
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible()
  const list = (name: RegExp) => page.locator('section').filter({ has: page.getByRole('heading', { name }) })
  await expect(list(/^Holding it/).getByRole('link', { name: first.id })).toBeVisible()
  await expect(list(/^Waiting/).getByRole('link', { name: second.id })).toBeVisible()

  await button('Change').click()
  await page.getByRole('spinbutton', { name: 'Slots' }).fill('2')
  await button('Save').click()
  await expect(list(/^Holding it/).getByRole('link', { name: second.id })).toBeVisible()

  await button('Pause').click()
  await page.getByLabel('Why').fill('The printer is out of paper')
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await expect(page.getByText('The printer is out of paper')).toBeVisible()
  expect(await sdk.queues.get(label)).toMatchObject({ concurrency: 2, pauseReason: 'The printer is out of paper' })
  await button('Resume').click()
  await expect(page.getByText(/Weight 1/)).toBeVisible()
  for (const { id } of [first, second]) await sdk.runs.cancel(id)
})

test('a person sets a limit for each customer, sees it fill, changes it, and lifts it', async ({
  page,
  base,
  label,
  sdk,
  receiver,
  guard,
}) => {
  guard.expectError(/422/)
  await sdk.queues.create({ name: label })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await open(page, `${base}/queues/${label}`)
  await button('New limit').click()
  await page.getByLabel('Name').fill(label)
  await page.getByRole('spinbutton', { name: /^At once/ }).fill('1')
  await page.getByRole('textbox', { name: 'Key' }).fill('body.customer.')
  await button('Set the limit').click()
  await expect(page.getByRole('textbox', { name: 'Key' })).toHaveAttribute('aria-invalid', 'true')
  await page.getByRole('textbox', { name: 'Key' }).fill('body.customer.id')
  await button('Set the limit').click()
  await page.getByRole('table').getByRole('link', { name: label }).click()
  await expect(page.getByText('No run has minded it within a day.')).toBeVisible()

  const body = { customer: { id: 'c-7' } }
  const target = { type: 'http', url: receiver.url(label, 'slow/55000'), timeout: 'PT90S', body } as const
  const runs = [await sdk.runs.create({ target, queue: label }), await sdk.runs.create({ target, queue: label })]
  const row = page.getByRole('row').filter({ hasText: 'c-7' })
  await expect(row.getByRole('meter')).toHaveAttribute('aria-valuetext', '1 of 1')
  await expect(row).toContainText('Full')
  await row.getByRole('button', { name: 'c-7: details' }).click()
  for (const { id } of runs) await expect(page.getByRole('link', { name: id })).toBeVisible()

  await button('Change').click()
  await page.getByRole('spinbutton', { name: /^At once/ }).fill('5')
  await button('Save').click()
  await expect(row.getByRole('meter')).toHaveAttribute('aria-valuetext', '2 of 5')

  await button('Lift').click()
  await expect(page.getByText(`Lifted ${label}`)).toBeVisible()
  await expect(page.getByRole('link', { name: label })).toHaveCount(0)
  await button('Undo').last().click()
  await page.getByRole('link', { name: label }).click()
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible()
  await expect(page.getByText('5 at once')).toBeVisible()
  const [limit] = (await sdk.limits.list({ limit: 100 }).page()).data.filter(({ name }) => name === label)
  await sdk.limits.delete(limit?.id ?? '')
  for (const { id } of runs) await sdk.runs.cancel(id)
})

test('a queue and a job say that no further run of theirs may wait', async ({
  page,
  base,
  label,
  sdk,
  receiver,
  guard,
}) => {
  guard.expectError(/429/)
  await sdk.queues.create({ name: label, class: 'bulk' })
  await sdk.queues.pause(label)
  const target = { type: 'http', url: receiver.url(label, 'ok') } as const
  const job = await sdk.jobs.create({ name: label, target, queue: label, overlap: 'allow' })
  const backlog = { max: 1, whenFull: 'reject' } as const
  const limits = [
    await sdk.limits.create({ name: `${label}-queue`, scope: { type: 'queue', queue: label }, backlog }),
    await sdk.limits.create({ name: `${label}-job`, scope: { type: 'job', jobId: job.id }, backlog }),
  ]
  const run = await sdk.jobs.run(job.id)
  await open(page, `${base}/queues/${label}`)
  await expect(page.getByText(`One run waits, as many as ${label}-queue lets wait: the next is refused.`)).toBeVisible()
  await open(page, `${base}/jobs/${job.id}`)
  await expect(page.getByText(`As many runs wait as the limit ${label}-job lets wait`)).toBeVisible()
  await page.getByRole('button', { name: 'Run now' }).click()
  await expect(page.getByText('As many runs wait as a limit of its backlog allows.')).toBeVisible()
  await page.getByRole('link', { name: 'Its limit' }).first().click()
  await expect(page.getByRole('row').filter({ hasText: 'All' })).toContainText('the next is refused')
  await sdk.runs.cancel(run.id)
  for (const { id } of limits) await sdk.limits.delete(id)
  await sdk.jobs.delete(job.id)
})

test('a person sees what share of the slots a queue got, and how long its runs waited', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  await sdk.queues.create({ name: label, weight: 2.5 })
  const run = await sdk.runs.create({
    target: { type: 'http', url: receiver.url(label, 'slow/55000'), timeout: 'PT90S' },
    queue: label,
  })
  const shareOf = async () => (await sdk.stats.fairness()).queues.find(({ queue }) => queue === label)
  await expect.poll(async () => (await shareOf())?.received ?? 0).toBeGreaterThan(0)
  await open(page, `${base}/queues`)
  await page
    .getByRole('navigation', { name: 'Queues, limits and fairness' })
    .getByRole('link', { name: 'Fairness' })
    .click()
  await expect(page.getByRole('slider', { name: /^Slots of .* over time/ })).toBeVisible()
  const row = page.getByRole('row').filter({ hasText: label })
  await expect(row.getByRole('meter')).toHaveAttribute('aria-valuetext', / of /)
  await expect(row).toContainText('2.5')
  await page.getByRole('link', { name: 'Last 7 days' }).click()
  await expect(page).toHaveURL(/last=7d/)
  await row.getByRole('link', { name: label }).click()
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible()
  await sdk.runs.cancel(run.id)
})

test.describe('a viewer', () => {
  test.use({ role: 'viewer' })
  test('sees queues and limits, and why they may not change them', async ({ page, base }) => {
    await open(page, `${base}/limits`)
    await expect(page.getByRole('button', { name: 'New limit' }).first()).toHaveAttribute('aria-disabled', 'true')
    await page
      .getByRole('navigation', { name: 'Queues, limits and fairness' })
      .getByRole('link', { name: 'Queues' })
      .click()
    await expect(page.getByRole('button', { name: 'New queue' })).toHaveAttribute('aria-disabled', 'true')
  })
})
