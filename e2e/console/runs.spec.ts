import type { Meridian } from '@meridian/sdk'
import { expect, open, test } from './test.ts'

async function ended(sdk: Meridian, id: string): Promise<string> {
  await expect.poll(async () => (await sdk.runs.get(id)).finishedAt).not.toBeNull()
  return id
}

test('a person finds a run and replays it with other input', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({
    name: label,
    target: { type: 'http', url: receiver.url(label, 'status/503'), body: { size: 1 } },
    retry: { limit: 0 },
  })
  const failed = await ended(sdk, (await sdk.jobs.run(job.id)).id)

  await open(page, `${base}/runs`)
  await page.getByRole('group', { name: 'Filters' }).getByRole('link', { name: 'Failed' }).click()
  await expect(page).toHaveURL(/status=failed,expired/)
  await page.locator(`[data-run="${failed}"]`).getByRole('link').click()
  await expect(page).toHaveURL(new RegExp(`/runs/${failed}\\?status=failed,expired`))
  await expect(page.getByText('The target answered 503.')).toBeVisible()

  await page.getByRole('button', { name: 'Replay' }).click()
  const body = page.getByRole('dialog').getByRole('textbox', { name: 'Body' })
  await expect(body).toHaveValue('{\n  "size": 1\n}')
  await body.fill('{ "size": 2 }')
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
  await expect(page.getByText('A replay of this run')).toBeVisible()
  const replay = /runs\/(run_\w+)/.exec(page.url())?.[1] ?? ''
  expect(replay).not.toBe(failed)
  expect(await sdk.runs.get(replay)).toMatchObject({ source: 'replay', replayOf: failed })
  expect((await sdk.runs.request(replay)).body).toBe('{"size":2}')
  expect((await sdk.runs.get(failed)).status).toBe('failed')
})

test('a person replays a run with the keyboard alone', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  const run = await ended(sdk, (await sdk.jobs.run(job.id)).id)
  await open(page, `${base}/runs?job=${job.id}`)
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(`/runs/${run}`))
  const replay = page.getByRole('button', { name: 'Replay' })
  await replay.waitFor()
  for (let presses = 0; presses < 80; presses += 1) {
    if (await replay.evaluate((element) => element === document.activeElement)) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByRole('textbox', { name: 'Body' })).toBeFocused()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await expect(dialog.getByRole('button', { name: 'Replay' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByText('A replay of this run')).toBeVisible()
})

test('beside an open run, j and k walk through the list', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  const ids: string[] = []
  for (let count = 0; count < 3; count += 1) ids.push(await ended(sdk, (await sdk.jobs.run(job.id)).id))
  const [oldest, middle, newest] = ids
  await open(page, `${base}/runs/${newest}?job=${job.id}`)
  await page.keyboard.press('j')
  await expect(page).toHaveURL(new RegExp(`/runs/${middle}`))
  await page.keyboard.press('j')
  await expect(page).toHaveURL(new RegExp(`/runs/${oldest}`))
  await page.keyboard.press('k')
  await expect(page).toHaveURL(new RegExp(`/runs/${middle}`))
  await expect(page.locator(`[data-run="${newest}"]`)).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(page).toHaveURL(`${base}/runs?job=${job.id}`)
})

test('new runs come by themselves, and change while one looks', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'slow/3000') } })
  await open(page, `${base}/runs?job=${job.id}`)
  await expect(page.getByText('No runs here')).toBeVisible()
  const run = await sdk.jobs.run(job.id)
  const row = page.locator(`[data-run="${run.id}"]`)
  await expect(row.getByText('Running')).toBeVisible()
  await expect(row.getByText('Succeeded')).toBeVisible()
})

test('rows do not move away under the pointer', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  const first = await ended(sdk, (await sdk.jobs.run(job.id)).id)
  await open(page, `${base}/runs?job=${job.id}`)
  await page.locator(`[data-run="${first}"]`).hover()
  const second = await ended(sdk, (await sdk.jobs.run(job.id)).id)
  const news = page.getByRole('button', { name: '1 new' })
  await expect(news).toBeVisible()
  await expect(page.locator('[data-run]')).toHaveCount(1)
  await news.click()
  await expect(page.locator('[data-run]').first()).toHaveAttribute('data-run', second)
})

test('a run that waits says what it waits for, and can be cancelled', async ({ page, base, label, sdk, receiver }) => {
  await sdk.queues.create({ name: label })
  await sdk.queues.pause(label, { reason: 'Moving house' })
  const run = await sdk.runs.create({ target: { type: 'http', url: receiver.url(label, 'ok') }, queue: label })
  await open(page, `${base}/runs/${run.id}`)
  await expect(page.getByText(`The queue ${label} is paused`)).toBeVisible()
  await expect(page.getByText('Moving house')).toBeVisible()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expect(page.getByText('Cancelled', { exact: true }).first()).toBeVisible()
  expect((await sdk.runs.get(run.id)).status).toBe('cancelled')
  await sdk.queues.resume(label)
})

test('open runs are cancelled by what they are filtered by, after a look at how many', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  await sdk.queues.create({ name: label })
  await sdk.queues.pause(label)
  const start = (tag: string) =>
    sdk.runs.create({ target: { type: 'http', url: receiver.url(label, 'ok') }, queue: label, tags: [tag] })
  const [one, two, other] = [await start(label), await start(label), await start('other')]
  await open(page, `${base}/runs?queue=${label}&status=failed`)
  const cancel = page.getByRole('button', { name: 'Cancel open runs' })
  await expect(cancel).toHaveAttribute('aria-disabled', 'true')
  await page.getByRole('group', { name: 'Filters' }).getByRole('link', { name: 'Failed' }).click()
  await page.getByRole('searchbox', { name: 'Tag' }).fill(label)
  await expect(page.locator('[data-run]')).toHaveCount(2)
  await cancel.click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByText(`About open runs, in queue ${label}, tagged ${label}`)).toBeVisible()
  await dialog.getByRole('button', { name: 'Cancel 2 runs' }).click()
  await expect(page.getByText(/^Done · started/)).toBeVisible()
  await page.getByRole('link', { name: 'Its runs' }).click()
  await expect(page.locator('[data-run]').getByText('Cancelled', { exact: true })).toHaveCount(2)
  const states = await Promise.all([one, two, other].map(async ({ id }) => (await sdk.runs.get(id)).status))
  expect(states).toEqual(['cancelled', 'cancelled', 'ready'])
  await sdk.runs.cancel(other.id)
  await sdk.queues.resume(label)
})

test('a run shows the callback that told its end', async ({ page, base, label, sdk, receiver }) => {
  const { id } = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  await open(page, `${base}/jobs/${id}/edit`)
  await page.locator('summary', { hasText: 'Who is told of an end' }).click()
  await page.getByLabel(/^When it has succeeded/).fill(receiver.url(`${label}-told`, 'ok'))
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page).toHaveURL(new RegExp(`/jobs/${id}$`))
  await page.getByRole('button', { name: 'Run now' }).click()
  await expect.poll(() => receiver.count(`${label}-told`)).toBe(1)
  const [run] = (await sdk.runs.list({ jobId: id }).page()).data
  await open(page, `${base}/runs/${run?.id}`)
  await page
    .getByRole('definition')
    .filter({ has: page.getByRole('link', { name: 'Succeeded' }) })
    .click()
  await expect(page.getByRole('link', { name: 'The end of this run' })).toBeVisible()
})

test('every attempt has its lane', async ({ page, base, label, sdk, receiver }) => {
  const target = { type: 'http', url: receiver.url(label, 'fail/2') } as const
  const run = await sdk.runs.create({ target, retry: { limit: 3, delay: 'PT0.2S', jitter: 0 } })
  await ended(sdk, run.id)
  await open(page, `${base}/runs/${run.id}`)
  for (const lane of ['Attempt 1', 'Attempt 2', 'Attempt 3'])
    await expect(page.getByText(lane, { exact: true })).toBeVisible()
  await page.getByRole('tab', { name: 'Events' }).click()
  await expect(page.getByText('run.succeeded')).toBeVisible()
  await page.getByRole('tab', { name: 'Raw' }).click()
  await expect(page.getByRole('region', { name: 'the run as JSON' })).toContainText(run.id)
})

test('a range is picked from the histogram and is in the URL', async ({ page, base }) => {
  await open(page, `${base}/runs`)
  const histogram = page.getByRole('slider')
  await histogram.focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Shift+ArrowRight')
  await page.keyboard.press('Shift+ArrowRight')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/from=2\d{3}-.*&to=2\d{3}-/)
  const shared = new URL(page.url())
  const span = Date.parse(shared.searchParams.get('to') ?? '') - Date.parse(shared.searchParams.get('from') ?? '')
  expect(span).toBe(3 * 30 * 60_000)
})

test('from a fact of a run a person comes to the runs that have it, too, and sees its key', async ({
  page,
  base,
  label,
  sdk,
}) => {
  const target = { type: 'http', url: 'https://example.com/' } as const
  const dueAt = new Date(Date.now() + 3_600_000)
  const start = (customer: string, key: string) =>
    sdk.runs.create({ target, dueAt, queue: label, metadata: { customer }, deduplication: { key } })
  const [one, other, third] = [
    await start(label, `${label}-1`),
    await start(label, `${label}-2`),
    await start('x', label),
  ]
  await open(page, `${base}/runs/${one.id}`)
  await expect(page.getByText('Deduplication key')).toBeVisible()
  await expect(page.getByText(`${label}-1`)).toBeVisible()
  await page.getByTitle('Runs with the same customer').click()
  await expect(page.getByRole('searchbox', { name: 'Metadata' })).toHaveValue(`customer=${label}`)
  for (const { id } of [one, other]) await expect(page.locator(`[data-run="${id}"]`)).toBeVisible()
  await expect(page.locator(`[data-run="${third.id}"]`)).toHaveCount(0)
  await page.getByRole('searchbox', { name: 'Metadata' }).fill('customer=x')
  await expect(page.locator(`[data-run="${third.id}"]`)).toBeVisible()
  await expect(page.locator(`[data-run="${one.id}"]`)).toHaveCount(0)
})
