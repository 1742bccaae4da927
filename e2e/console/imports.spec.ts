import { expect, open, test } from './test.ts'

/** Thirty lines of one server, with everything that people write into a crontab. */
const crontab = (label: string): string => `# m h  dom mon dow   command
SHELL=/bin/bash
MAILTO=ops@example.com

# Rotate the application logs
25 6 * * * /usr/sbin/logrotate /etc/logrotate.d/${label}.conf
# Nightly database dump, kept for 14 days
15 2 * * * pg_dump -Fc shop | gzip > /backup/shop-$(date +\\%F).dump.gz
30 3 * * 0 find /backup -name '*.dump.gz' -mtime +14 -delete
* * * * * cd /var/www/shop && php artisan schedule:run >> /dev/null 2>&1
*/5 * * * * flock -n /tmp/mailer.lock /opt/mailer/bin/send --batch 100
0 * * * * curl -fsS -m 10 --retry 5 https://shop.example.com/cron/hourly > /dev/null
*/10 9-17 * * 1-5 wget -q -O - "https://shop.example.com/cron.php?key=abc" >/dev/null 2>&1
@daily /usr/local/bin/rotate-keys
@reboot /opt/agent/start.sh
0 0 1,15 * 1 /usr/local/bin/invoice-run --all
0 4 */2 * 1 /usr/local/bin/reindex
#0 5 * * * /usr/local/bin/old-report
CRON_TZ=Europe/London
30 1 * * * /usr/local/bin/fx-rates
0 8 * * mon-fri /usr/local/bin/open-market.sh
0 22 * * 7 /usr/local/bin/weekly%first line%second line
CRON_TZ=America/New_York
30 2 * * * /usr/local/bin/us-settlement
0 0 29 2 * /usr/local/bin/leap-day
0 0 31 2 * /usr/local/bin/never
61 * * * * /usr/local/bin/typo
*/45 * * * * /usr/local/bin/every-45
15 6 1 * * /usr/local/bin/month-start
@hourly
`

test('a person who pastes a crontab of 30 lines sees what each means and what differs, runs it in shadow, and switches', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  test.setTimeout(180_000)
  expect(crontab(label).trimEnd().split('\n')).toHaveLength(30)
  await open(page, `${base}/jobs`)
  await page.getByRole('link', { name: 'Import', exact: true }).last().click()
  await page.getByRole('textbox', { name: 'Crontab, manifests or JSON' }).fill(crontab(label))

  // Before a target is given, it is said what needs one.
  await expect(page.getByText('2 lines become jobs, 15 commands need a target, 4 can’t be taken over.')).toBeVisible()
  await page.getByLabel('Name of the machine').fill(label)
  await page.getByRole('textbox', { name: 'Where commands go' }).fill(receiver.url(label, 'ok'))
  await expect(page.getByText('17 lines become jobs, 4 can’t be taken over.')).toBeVisible()

  // Each line: what it means, what differs, when it runs on both sides, or why it can't be taken over.
  const lines = page.getByRole('region', { name: 'What each line becomes' })
  const row = (name: string | RegExp) => lines.getByRole('row').filter({ hasText: name }).first()
  await expect(row('open-market.sh')).toContainText('At 08:00 on Monday to Friday, Europe/London')
  await expect(row('old-report')).toContainText('commented out')
  await expect(row('CRON_TZ=Europe/London')).toContainText('The lines below are read in Europe/London')
  await expect(row('start.sh')).toContainText('@reboot has no time')
  await expect(row('never')).toContainText('never runs')
  await expect(row('typo')).toContainText('minute')
  await expect(lines).toContainText('In every line: Its output was mailed to ops@example.com')
  await expect(row('invoice-run')).toContainText('it runs on days that match either')
  await expect(row('cron/hourly')).toContainText('GET https://shop.example.com/cron/hourly')
  await page.getByRole('button', { name: /invoice-run --all: details/ }).click()
  await expect(lines).toContainText('were reckoned by both rules and are the same')

  await page.getByRole('button', { name: 'Make 17 jobs in shadow' }).click()
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible()
  await expect(page.getByText('17 jobs in shadow')).toBeVisible()
  await expect(page.getByText(/No ping has come yet/)).toBeVisible()

  // The lines to put into the old crontab; one of them is what we call here in the old system's place.
  await page.getByRole('tab', { name: 'Ping URLs' }).click()
  await page.getByRole('button', { name: 'Show the ping URLs' }).click()
  const rewritten = page.getByRole('region', { name: 'the crontab with pings' })
  await expect(rewritten).toContainText(
    /25 6 \* \* \* P=http\S+\/ping\/mp_\S+; curl .*\$P\/start; \/usr\/sbin\/logrotate/,
  )
  const [, url = ''] =
    /P=(http\S+); curl \S+ -m 10 --retry 3 -o \/dev\/null \$P\/start; cd \/var\/www/.exec(
      (await rewritten.textContent()) ?? '',
    ) ?? []

  // In shadow each minute is noted and nothing is called, while the old system tells of it.
  const each = (await sdk.jobs.list({ search: 'php artisan', include: ['recent'] }).page()).data.find(
    ({ externalId }) => externalId?.startsWith(label),
  )
  expect(each?.mode).toBe('shadow')
  const noted = async () => (await sdk.jobs.occurrences(each?.id ?? '').page()).data
  await expect
    .poll(async () => (await noted()).map(({ outcome, reason }) => `${outcome} ${reason}`), { timeout: 90_000 })
    .toContain('skipped shadow')
  const first = (await noted())[0]
  await expect.poll(() => Date.now(), { timeout: 90_000 }).toBeGreaterThan(Date.parse(first?.nominalAt ?? ''))
  expect((await fetch(`${url}/start`)).status).toBe(200)
  expect((await fetch(`${url}/0`)).status).toBe(200)
  await page.getByRole('tab', { name: 'Compared' }).click()
  await page.reload()
  await expect(page.getByText(/1 of 1 expected runs were told of/)).toBeVisible({ timeout: 30_000 })
  await page.getByRole('button', { name: /php artisan.*each instant/ }).click()
  await expect(page.getByRole('listitem').filter({ hasText: 'matched' })).toHaveCount(1)
  expect(await receiver.count(label)).toBe(0)

  // One switch of all at once; then the next minute is called.
  await page.getByRole('button', { name: 'Switch all 17 to live' }).click()
  await expect(page.getByText('17 jobs are live')).toBeVisible()
  await expect(page.getByText('17 live')).toBeVisible()
  await expect.poll(() => receiver.count(label), { timeout: 75_000 }).toBeGreaterThan(0)

  // And back.
  await page.getByRole('button', { name: 'Back into shadow' }).click()
  await expect(page.getByText('17 jobs in shadow')).toBeVisible()
  const jobs = await sdk.jobs.list({ search: `${label}:` }).page()
  expect(jobs.data.every(({ mode }) => mode === 'shadow')).toBe(true)
  for (const job of jobs.data) await sdk.jobs.delete(job.id)
})

test('a file is dropped, told for what it is, and imported again to update', async ({ page, base, label, sdk }) => {
  const manifest = (schedule: string): string => `apiVersion: batch/v1
kind: CronJob
metadata: { name: ${label} }
spec:
  schedule: "${schedule}"
  timeZone: Europe/Paris
  concurrencyPolicy: Replace
  jobTemplate: { spec: { template: { spec: { containers: [{ name: main, image: busybox }] } } } }
`
  const choose = async (schedule: string, plan: string) => {
    await page
      .getByLabel('Choose a file')
      .setInputFiles({ name: 'cron.yaml', mimeType: 'text/yaml', buffer: Buffer.from(manifest(schedule)) })
    await page.getByRole('textbox', { name: 'Where commands go' }).fill('https://runner.example.com/run')
    await expect(page.getByText(plan)).toBeVisible()
  }
  await open(page, `${base}/imports/new`)
  await choose('30 2 * * *', '1 line becomes a job.')
  await expect(page.getByLabel(/^Format: Tell from the text \(kubernetes/)).toBeVisible()
  await page.getByRole('button', { name: /details$/ }).click()
  await expect(page.getByText('Replace stops the run that is going, there and here.')).toBeVisible()
  await page.getByRole('button', { name: 'Make 1 job in shadow' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'cron.yaml' })).toBeVisible()

  await page.getByRole('link', { name: 'Import again' }).click()
  await choose('45 2 * * *', '1 brings a job up to date.')
  await expect(page.getByText('updates a job there is')).toBeVisible()
  await page.getByRole('button', { name: 'Update 1 job' }).click()
  await page.getByRole('tab', { name: /Lines/ }).click()
  await page.getByRole('link', { name: 'changed' }).click()
  await expect(page.getByText(/In shadow: its instants are noted/)).toBeVisible()
  const job = await sdk.jobs.getByExternalId(`kubernetes:default/${label}`)
  expect(job).toMatchObject({ version: 2, schedule: { cron: '45 2 * * *', gap: 'skip', fold: 'both' } })
  await sdk.jobs.delete(job.id)
})

test('any job has a ping URL of its own, and tells what came', async ({ page, base, label, sdk, receiver }) => {
  const job = await sdk.jobs.create({ name: label, target: { type: 'http', url: receiver.url(label, 'ok') } })
  await open(page, `${base}/jobs/${job.id}/settings`)
  await page.getByRole('button', { name: 'Show the ping URL' }).click()
  const calls = await page.getByRole('region', { name: 'the calls' }).textContent()
  const url = /(http\S+\/ping\/mp_[\w-]+)/.exec(calls ?? '')?.[1] ?? ''
  expect((await fetch(`${url}/3`, { method: 'POST', body: 'disk full' })).status).toBe(200)
  await page.reload()
  await expect(page.getByText('exit code 3')).toBeVisible()
  await expect(page.getByText('disk full')).toBeVisible()
  await page.getByRole('button', { name: 'Put into shadow' }).click()
  await expect(page.getByRole('heading', { name: 'Leave the shadow' })).toBeVisible()
  await sdk.jobs.delete(job.id)
})

test.describe('a viewer', () => {
  test.use({ role: 'viewer' })
  test('sees what an import became, and why they may not make one', async ({ page, base }) => {
    await open(page, `${base}/imports`)
    await expect(page.getByRole('button', { name: 'Import', exact: true }).first()).toHaveAttribute(
      'aria-disabled',
      'true',
    )
  })
})
