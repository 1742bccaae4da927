import { Client } from 'pg'
import { expect, open, test } from './test.ts'

test('a schedule that stands still is told on the overview, and its repair is begun there', async ({
  page,
  base,
  label,
  sdk,
}) => {
  const url = process.env.MERIDIAN_DATABASE_URL
  test.skip(url === undefined, 'needs the database of a product of its own')
  const job = await sdk.jobs.create({
    name: label,
    target: { type: 'http', url: 'https://example.com/' },
    schedule: { type: 'cron', cron: '25 6 * * *', timezone: 'UTC' },
  })
  // Schedulers pass over what somebody has locked: the schedule stands still for as long as this session is open.
  const locker = new Client({ connectionString: url })
  const other = new Client({ connectionString: url })
  await Promise.all([locker.connect(), other.connect()])
  try {
    const schedule = 'from schedules where job_id = (select id from jobs where name = $1)'
    await locker.query('begin')
    await locker.query(`select ${schedule} for key share`, [label])
    await other.query(
      `update schedules set next_at = clock_timestamp() - interval '10 minutes' where job_id = (select job_id ${schedule})`,
      [label],
    )
    const alarmed = async () => (await sdk.alarms.list()).data.map(({ subject }) => subject)
    await expect.poll(alarmed, { timeout: 20_000 }).toContain(job.id)
    await open(page, base)
    const alarm = page.locator(`[data-alarm="schedule-stuck ${job.id}"]`)
    await expect(alarm.getByText(`The schedule of ${label} stands still`)).toBeVisible()
    await alarm.getByRole('button', { name: 'Repair' }).click()
    await page.getByRole('button', { name: 'Follow it' }).click()
    await expect(page.getByRole('heading', { level: 1, name: /Repair/ })).toBeVisible()
  } finally {
    await Promise.all([locker.end(), other.end()])
    await sdk.jobs.delete(job.id)
  }
})
