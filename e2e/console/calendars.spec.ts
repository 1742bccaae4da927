import { expect, open, test } from './test.ts'

const file = `BEGIN:VCALENDAR
BEGIN:VEVENT
SUMMARY:Company day
DTSTART;VALUE=DATE:20300304
END:VEVENT
BEGIN:VEVENT
SUMMARY:Nonsense
END:VEVENT
END:VCALENDAR
`

test('a calendar is made of hours, holidays, days and a file, and its year is drawn meanwhile', async ({
  page,
  base,
  label,
  sdk,
}) => {
  await open(page, `${base}/calendars/~new`)
  const year = String(new Date().getFullYear())
  const days = page.getByRole('group', { name: `The days of ${year}` })
  await page.getByLabel('Name', { exact: true }).fill(label)
  await page.getByRole('button', { name: 'Add weekends' }).click()
  await page.getByRole('button', { name: 'Sun', exact: true }).click()
  await page.getByRole('button', { name: 'Add a place' }).click()
  await expect(days.getByRole('button', { name: /25 Dec .*: whole day, Christmas Day/ })).toBeVisible()
  await page.getByRole('combobox', { name: 'Country', exact: true }).fill('Germany')
  await page.getByRole('option', { name: 'Germany (DE)' }).click()
  await expect(days.getByRole('button', { name: /3 Oct .*: whole day, Tag der Deutschen Einheit/ })).toBeVisible()

  // A day is added by a press on it, and is taken away by another.
  const day = days.getByRole('button', { name: new RegExp(`^... 7 Oct ${year}`) })
  await day.click()
  await expect(day).toHaveAccessibleName(/: whole day$/)
  await expect(page.getByRole('list', { name: 'Single dates' })).toContainText(`7 Oct ${year}`)

  await page.getByRole('button', { name: 'Read an iCalendar file' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'The file, or what it says' }).fill(file)
  await expect(dialog.getByText('1 date, 0 ranges')).toBeVisible()
  await expect(dialog.getByText(/^Nonsense:/)).toBeVisible()
  await dialog.getByRole('button', { name: 'Add 1 entry' }).click()
  await expect(page.getByRole('list', { name: 'Single dates' })).toContainText('Mon 4 Mar 2030')

  await page.getByRole('button', { name: 'Create the calendar' }).click()
  await expect(page.getByRole('heading', { level: 1, name: label })).toBeVisible()
  expect(await sdk.calendars.get(label)).toMatchObject({
    weekly: [{ days: ['SAT'], from: '00:00', until: '24:00' }],
    holidays: [{ country: 'DE' }],
    dates: [`${year}-10-07`, '2030-03-04'],
  })
  await sdk.calendars.delete(label)
})

test('who uses a calendar is seen, a change makes a version, and an old one comes back', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  await sdk.calendars.create({ name: label, dates: ['2030-05-01'] })
  const job = await sdk.jobs.create({
    name: `${label}-job`,
    target: { type: 'http', url: receiver.url(label, 'ok') },
    schedule: { type: 'cron', cron: '0 6 * * *', timezone: 'Europe/London', notOn: [label] },
  })
  await open(page, `${base}/calendars/${label}?year=2030`)
  await expect(page.getByRole('link', { name: `${label}-job` })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Delete' })).toHaveAttribute('aria-disabled', 'true')
  await expect(page.getByText('1 day of 2030, whole or in part')).toBeVisible()

  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('button', { name: 'Add office hours' }).click()
  await expect(page.getByText('One job uses it')).toBeVisible()
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText(/^Version 2, changed/)).toBeVisible()

  await page.getByRole('link', { name: /^Version 1/ }).click()
  await expect(page.getByText('This is version 1')).toBeVisible()
  await page.getByRole('button', { name: 'Restore it' }).click()
  await expect(page.getByText(/^Version 3, changed/)).toBeVisible()
  expect(await sdk.calendars.get(label)).toMatchObject({ dates: ['2030-05-01'], weekly: [] })

  await sdk.jobs.delete(job.id)
  await page.reload()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill(label)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the calendar' }).click()
  await expect(page.getByText(`Deleted ${label}`)).toBeVisible()
})

test('a schedule is told which days it runs on, and what it does follows', async ({
  page,
  base,
  label,
  sdk,
  receiver,
}) => {
  await sdk.calendars.create({ name: label, dates: ['2030-05-01'] })
  const weekend = {
    name: `${label}-weekend`,
    weekly: [{ days: ['SAT' as const, 'SUN' as const], from: '00:00', until: '24:00' }],
  }
  await sdk.calendars.create(weekend)
  await open(page, `${base}/jobs/new`)
  await page.getByLabel('Name', { exact: true }).fill(`${label}-job`)
  await page.getByRole('textbox', { name: 'URL' }).fill(receiver.url(label, 'ok'))
  const preview = page.getByRole('region', { name: 'What this schedule does' }).filter({ visible: true })
  const only = page.getByRole('group', { name: 'Only on' })
  await only.getByRole('button', { name: 'A calendar' }).click()
  await page.getByRole('menuitem', { name: weekend.name }).click()
  await expect(preview).toContainText(`only on ${weekend.name}`)
  await expect(preview.getByText('Sat').first()).toBeVisible()
  const not = page.getByRole('group', { name: 'Not on' })
  await not.getByRole('button', { name: 'A calendar' }).click()
  await page.getByRole('menuitem', { name: new RegExp(`^${label}(?!-)`) }).click()
  await not.getByRole('button', { name: `Take ${label} away` }).click()
  await expect(not.getByRole('link')).toHaveCount(0)
  await page.getByRole('combobox', { name: 'What becomes of a start outside of them' }).click()
  await page.getByRole('option', { name: 'At the next open time', exact: true }).click()
  await page.getByRole('button', { name: 'Create the job' }).click()
  await expect(page.getByRole('heading', { level: 1, name: `${label}-job` })).toBeVisible()
  const [job] = (await sdk.jobs.list({ search: `${label}-job` }).page()).data
  expect(job?.schedule).toMatchObject({ onlyOn: [weekend.name], roll: 'next' })

  await open(page, `${base}/jobs?q=${label}-job`)
  await expect(
    page.getByText(`only on ${weekend.name}, otherwise at the next open time`).filter({ visible: true }),
  ).toBeVisible()
  if (job) await sdk.jobs.delete(job.id)
  await sdk.calendars.delete(label)
  await sdk.calendars.delete(weekend.name)
})
