import { expect, open, test } from './test.ts'

test('a person creates a job on a schedule, sees its next instants, and runs it', async ({
  page,
  base,
  receiver,
  label,
}) => {
  await open(page, `${base}/jobs`)
  await page.getByRole('link', { name: 'Create a job' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(label)
  await page.getByRole('textbox', { name: 'URL' }).fill(receiver.url(label, 'ok'))
  await page.getByRole('tab', { name: 'JSON' }).click()
  await page.getByRole('textbox', { name: 'Body' }).fill('{ "hello": "world" }')

  await page.getByRole('tab', { name: 'Cron' }).click()
  await page.getByLabel('Cron line').fill('25 6 * * *')
  const zone = page.getByLabel('Time zone')
  await zone.fill('london')
  await page.getByRole('option', { name: 'Europe/London' }).click()
  const consequence = page.getByRole('region', { name: 'What this schedule does' }).last()
  await expect(consequence.getByText('At 06:25 every day, Europe/London')).toBeVisible()
  await expect(consequence.getByRole('row')).toHaveCount(11)
  await expect(consequence.getByText('06:25').first()).toBeVisible()

  await page.getByRole('tab', { name: 'In words' }).click()
  await expect(page.getByLabel('Time of day')).toHaveValue('06:25')

  await page.getByRole('button', { name: 'Send a test request' }).click()
  await expect(page.getByText('HTTP 200').first()).toBeVisible()

  await page.getByRole('button', { name: 'Create the job' }).click()
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible()
  await expect(page.getByText(/Active · next in/)).toBeVisible()

  await page.getByRole('button', { name: 'Run now' }).click()
  await expect(page).toHaveURL(/\/runs\/run_/)
  await expect(page.getByText('Attempt 1')).toBeVisible()
  await expect(page.getByText('HTTP 200').first()).toBeVisible()
  await expect.poll(() => receiver.count(label)).toBe(2)
})

test('a person creates a job with the keyboard alone', async ({ page, base, receiver, label, sdk }) => {
  await open(page, base)
  await page.keyboard.press('c')
  await expect(page.getByRole('heading', { level: 1, name: 'New job' })).toBeVisible()
  const name = page.getByRole('textbox', { name: 'Name' })
  for (let presses = 0; presses < 40; presses += 1) {
    if (await name.evaluate((element) => element === document.activeElement)) break
    await page.keyboard.press('Tab')
  }
  await expect(name).toBeFocused()
  await page.keyboard.type(label)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await expect(page.getByRole('textbox', { name: 'URL' })).toBeFocused()
  await page.keyboard.type(receiver.url(label, 'ok'))
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible()
  const job = (await sdk.jobs.list({ search: label }).page()).data[0]
  expect(job?.schedule).toEqual({ type: 'cron', cron: '0 9 * * *', timezone: 'Europe/Berlin' })
})

test('a recurrence rule is written with bounds and a dialect is chosen, and both read back as they were', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  await open(page, `${base}/jobs/new`)
  await page.getByRole('textbox', { name: 'Name' }).fill(label)
  await page.getByRole('textbox', { name: 'URL' }).fill(receiver.url(label, 'ok'))
  await page.getByRole('tab', { name: 'RRULE' }).click()
  const rule = page.getByLabel('Recurrence rule')
  await rule.fill('FREQ=MONTHLY;BYMONTHDAY=30;BYMONTH=2')
  await expect(rule).toHaveAttribute('aria-invalid', 'true')
  await page.getByRole('button', { name: 'Every other Friday' }).click()
  await expect(rule).not.toHaveAttribute('aria-invalid', 'true')
  await page.getByText('Bounds, spread, clock changes').click()
  await page.getByLabel('At most so many runs').fill('3')
  await page.getByLabel('At most so many runs').press('Tab')
  const consequence = page.getByRole('region', { name: 'What this schedule does' }).last()
  await expect(consequence).toContainText('at most 3 times')
  await expect(consequence.getByRole('row')).toHaveCount(4)
  await page.getByRole('button', { name: 'Create the job' }).click()
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible()
  const job = (await sdk.jobs.list({ search: label }).page()).data[0]
  expect(job?.schedule).toEqual({
    type: 'rrule',
    rrule: 'FREQ=WEEKLY;INTERVAL=2;BYDAY=FR',
    timezone: 'Europe/Berlin',
    maxRuns: 3,
  })

  await open(page, `${base}/jobs/${job?.id}/edit`)
  await expect(page.getByRole('tab', { name: 'RRULE' })).toHaveAttribute('data-state', 'active')
  await page.getByRole('tab', { name: 'Cron' }).click()
  await page.getByLabel('Cron line').fill('0 0 9 ? * 2')
  await page.getByLabel(/^Read as/).click()
  await page.getByRole('option', { name: 'Quartz' }).click()
  await expect(consequence).toContainText('Monday')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page).toHaveURL(new RegExp(`/jobs/${job?.id}$`))
  const edited = await sdk.jobs.get(job?.id ?? '')
  expect(edited.schedule).toMatchObject({ type: 'cron', cron: '0 0 9 ? * 2', dialect: 'quartz', maxRuns: 3 })
  await sdk.jobs.delete(edited.id)
})

test('what is wrong with a schedule is said where it is typed', async ({ page, base }) => {
  await open(page, `${base}/jobs/new`)
  await page.getByRole('tab', { name: 'Cron' }).click()
  const line = page.getByLabel('Cron line')
  await line.fill('0 0 31 2 *')
  await expect(line).toHaveAttribute('aria-invalid', 'true')
  await line.fill('*/7 * * * *')
  await expect(line).not.toHaveAttribute('aria-invalid', 'true')
  await expect(page.getByText('No plain sentence says exactly this.')).toBeVisible()
  await line.press('Home')
  await expect(page.getByText('means every 7 minutes')).toBeVisible()
})

test('a refused job keeps what was typed and says what to change', async ({ page, base, label, guard }) => {
  guard.expectError(/422/)
  await open(page, `${base}/jobs/new`)
  await page.getByRole('textbox', { name: 'Name' }).fill(label)
  await page.getByRole('textbox', { name: 'URL' }).fill('https://user:secret@example.com/')
  await page.getByRole('button', { name: 'Create the job' }).click()
  await expect(page.getByRole('alert')).toContainText('must not hold a user name or password')
  await expect(page.getByRole('textbox', { name: 'URL' })).toHaveAttribute('aria-invalid', 'true')
  await expect(page.getByRole('textbox', { name: 'Name' })).toHaveValue(label)
})

test('an edit made on top of another one is refused', async ({ page, base, label, sdk, receiver, guard }) => {
  guard.expectError(/412/)
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  await open(page, `${base}/jobs/${job.id}/edit`)
  await sdk.jobs.update(job.id, { description: 'meanwhile' })
  await page.getByRole('textbox', { name: 'Name' }).fill(`${label}-mine`)
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('alert')).toContainText('Changed by somebody else')
  expect((await sdk.jobs.get(job.id)).name).toBe(label)
})

test('an edit makes a version, and an earlier one can be restored', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  await open(page, `${base}/jobs/${job.id}/edit`)
  await page.getByLabel('Queue', { exact: true }).fill('reports')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'Versions' }).click()
  await expect(page.getByRole('cell', { name: 'Changed queue' })).toBeVisible()
  await page.getByRole('button', { name: 'Restore version 1' }).click()
  await expect(page.getByRole('cell', { name: 'Version 1 restored' })).toBeVisible()
  expect((await sdk.jobs.get(job.id)).queue).toBe('default')
})

test('a job is deleted only by typing its name', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  await open(page, `${base}/jobs/${job.id}/settings`)
  await page.getByRole('button', { name: 'Delete the job' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Delete the job' }).press('Enter')
  await expect(dialog).toBeVisible()
  await dialog.getByRole('textbox').fill(label)
  await dialog.getByRole('button', { name: 'Delete the job' }).click()
  await expect(page).toHaveURL(new RegExp(`${base}/jobs$`))
  await expect(page.getByRole('link', { name: label })).toHaveCount(0)
})

test('search finds a job by part of its name, from anywhere', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  await open(page, `${base}/settings`)
  await page.keyboard.press('/')
  await page.keyboard.type(label.slice(0, 14))
  await expect(page.getByRole('option', { name: label })).toBeVisible()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(`/jobs/${job.id}$`))
})
